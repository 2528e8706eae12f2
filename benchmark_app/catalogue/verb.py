"""The verb `tasks`: which tasks there are, and what each claims to be. Imports no engine and no torch."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmark_app.refusal import refuse

from .describe import describe
from .entries import TaskError, find_tasks, load_task, unusable_tasks
from .page import page
from .reference import ReferenceFileError
from .text import described, listed


def tasks(arguments: list[str]) -> int:
    """List the tasks, or describe some; see `--help`.

    Returns:
        Exit status: 0, or 2 where there is no such task.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmark_app tasks",
        description="List the tasks, or tell all about some: what a policy sees and does, rewards, success, results.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="tasks to describe; none: list all")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument("--page", action="store_true", help="print a task's page, in Markdown")
    parser.add_argument("--video", metavar="ADDRESS", default="", help="with --page: a video of it that it leads to")
    parser.add_argument("--config-dir", metavar="FOLDER", help="tasks of your own, FOLDER/task/NAME.yaml")
    args = parser.parse_args(arguments)
    if args.page and len(args.names) != 1:
        return refuse("--page: give the name of one task")
    if args.video and not args.page:
        return refuse("--video: belongs to --page; leave it out")
    folder = None if args.config_dir is None else Path(args.config_dir).absolute()
    if folder is not None and not folder.is_dir():
        return refuse(f"--config-dir {args.config_dir}: no such folder")
    try:
        entries = [load_task(name, folder) for name in args.names] or list(find_tasks(folder).values())
        found = [describe(entry) for entry in entries]
    except (TaskError, ReferenceFileError) as error:
        return refuse(str(error))
    if args.json:
        print(json.dumps(found, indent=2))
    elif args.page:
        print(page(found[0], args.video), end="")
    elif args.names:
        print("\n\n".join(described(task) for task in found))
    else:
        print(listed(found, unusable_tasks()))
    return 0
