"""A task's page, in Markdown, generated from what it declares."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from benchmark_app.physics.catalogue import ENGINES
from benchmark_app.places import conf_dir

from .wording import Task, chosen, command, component, interval, judged, number, rate

WIDTH = 120


def page(task: Task, video: str = "") -> str:
    """The page of a described task that has a declaration; of one without, what little is known.

    Args:
        task: The task.
        video: Address of a video of it, relative to the page; "" where there is none.
    """
    declaration = task["declaration"]
    if declaration is None:
        return f"# {task['name']}\n\n{task['description']}\n\nThe task declares nothing of itself.\n"
    parts = [
        f"<!-- Generated from the task's declaration: `make task-pages`. Change tasks/{task['name']}/, not this. -->",
        f"# {declaration['title']}",
        _section("What it tests", *map(_prose, declaration["summary"].split("\n\n"))),
        _section(
            "Links", "\n".join(f"- [{name}]({address})" for name, address in declaration["links"].items()) or "None."
        ),
        _section("Provenance and licences", _provenance(declaration["sources"])),
        _section("Picture", *_picture(task, video)),
        _section("Tasks", *_tasks(task)),
        _section("Installation", *_installation(task)),
        _section("Evaluation", *_evaluation(task)),
        _section("Policy inputs and outputs", *_policy(task)),
        _section("Training", *_training(task)),
        _section("Reference results", *_results(task)),
    ]
    return "\n\n".join(parts) + "\n"


def _picture(task: Task, video: str) -> list[str]:
    title, picture = task["declaration"]["title"], f"{task['name']}.png"
    film = command("workflow=play", *chosen(task), "checkpoint=PATH", "play.video=true")
    recorded = ["To record a policy of your own:", _console(film)]
    if not video:
        return [f"![{title}]({picture})", *recorded]
    return [f"[![{title}]({picture})]({video})", f"[A video of a trained policy]({video}), four episodes.", *recorded]


def _tasks(task: Task) -> list[str]:
    declaration = task["declaration"]
    row = [f"`{task['name']}`", f"`{task['gym_id']}`", declaration["suite"], task["description"]]
    found = [
        _table(("task", "Gymnasium id", "suite", "what is to be done"), [row]),
        _prose(f"{rate(task)}."),
        _prose(f"**Success.** {judged(task)}"),
        "**Reward**, the sum of these terms:",
        _names(declaration["reward_terms"]),
    ]
    if declaration["metrics"]:
        found += ['**Metrics** of an episode, as of its last step (`info["metrics"]`):', _names(declaration["metrics"])]
    if ends := task["conventions"].get("terminates"):
        found.append(_prose(f"**An episode ends early**: {ends}."))
    if declaration["differs"]:
        found += ["**Deliberately unlike what it is modelled on:**", _list(declaration["differs"])]
    return found


def _installation(task: Task) -> list[str]:
    shipped = task["origin"] == "shipped"
    first = "The task is part of this project." if shipped else f"`pip install {task['origin']}`."
    rows = []
    for name in task["declaration"]["engines"]:
        engine = ENGINES.get(name)
        rows.append([f"`{name}`", engine.title, engine.apart or f"`{engine.install}`"] if engine else [f"`{name}`"] * 3)
    return [
        _prose(f"{first} The engines it is made for and checked on:"),
        _table(("engine", "", "installation"), rows),
    ]


def _evaluation(task: Task) -> list[str]:
    return [
        _console(
            command("workflow=play", *chosen(task), "checkpoint=outputs/latest/checkpoints/policy.pt"),
            command("check", task["name"]),
        ),
        _prose(
            f"`workflow=play` plays {task['play']['episodes']} numbered episodes, each seeded by the run's seed and "
            "its number only, so that the result does not depend on the number of environments. Its interval tells how "
            "sure the success rate of this one policy is, and nothing of how another training would have come out. "
            "`check` verifies what this page says."
        ),
    ]


def _policy(task: Task) -> list[str]:
    said = task["conventions"]
    found = []
    for group, entries in said.get("observations", {}).items():
        key = task["observations"][group]
        found += [
            f"**Observation** `{group}`, canonical `{key}`: float32, `[{len(entries)}]`.",
            _components(entries),
        ]
    for group, image in said.get("images", {}).items():
        shape = f"[{image['height']}, {image['width']}, {image['channels']}]"
        found += [
            f"**Image** `{group}`, canonical `{task['observations'][group]}`: {image['dtype']}, `{shape}`.",
            _prose(f"{image['meaning']}. Camera `{image['camera']}`, {image['unit']}."),
        ]
    actions = said.get("actions", [])
    found += [f"**Action**: float32, `[{len(actions)}]`, in [-1, 1].", _components(actions)]
    rows = [
        ["control rate", f"{number(said['control_rate_hz'])} Hz"],
        ["controller", f"`{said['controller']}`"],
        ["robot type", f"`{said['robot_type']}`"],
        ["semantics", f"`{said['semantics']}`"],
        ["task description", task["description"]],
    ]
    return [*found, "**Conventions**", _table(("", ""), rows)]


def _training(task: Task) -> list[str]:
    libraries = sorted(path.stem for path in (conf_dir() / "framework").glob("*.yaml"))
    found = [_console(*(command(*chosen(task), f"framework={library}") for library in libraries))]
    tuned = [(file, settings) for group in ("tuned", "tuned_library") for file, settings in task[group].items()]
    if not tuned:
        return [*found, "The agent's default settings are used."]
    for file, settings in tuned:
        rows = [[f"`{key}`", f"`{value}`"] for key, value in settings.items()]
        found += [f"Settings of `{file}`:", _table(("setting", "value"), rows)]
    return [*found, _prose("They are chosen with the task and the agent; all others are the agent's defaults.")]


def _results(task: Task) -> list[str]:
    if not task["reference"]:
        return ["None yet."]
    found = []
    for result in task["reference"]:
        found += [
            f"### {result['framework']}, {result['agent']}, {result['physics']}, {result['device']}",
            _console(result["command"]),
            _table(
                ("seed", "training [s]", "success", "95 % interval [%]", "return", *task["declaration"]["metrics"]),
                [_seed(seed, task["declaration"]["metrics"]) for seed in result["seeds"]],
            ),
            _prose(" ".join(_sentences(result))),
        ]
    return found


def _seed(seed: Mapping[str, Any], metrics: Iterable[str]) -> list[str]:
    success = "–" if seed["n_success"] is None else f"{seed['n_success']} of {seed['n_episodes']}"
    means = (number(seed["metrics"].get(name)) for name in metrics)
    interval_of = interval(seed["pc_success_ci95"])
    return [str(seed["seed"]), number(seed["training_s"]), success, interval_of, number(seed["avg_sum_reward"]), *means]


def _sentences(result: Mapping[str, Any]) -> list[str]:
    """What a table of seeds leaves out."""
    over = ", ".join(
        f"{name} {number(value['mean'])}" + ("" if value["ci95"] is None else f" {interval(value['ci95'])}")
        for name, value in result["over_seeds"].items()
    )
    expected = ", ".join(f"{name} {interval(bounds)}" for name, bounds in result["expected"].items())
    found = [
        f"Each training: {result['iterations']:,} iterations, {result['num_envs']:,} environments, "
        f"{result['frames']:,} environment steps.",
        f"Over the seeds (mean, 95 % interval): {over}.",
        f"A new run counts as the same within: {expected} ({result['basis'].removesuffix('.')}).",
    ]
    if result["random"] is not None:
        random = result["random"]
        found.append(
            f"Random actions: return {number(random['avg_sum_reward'])}, standard error "
            f"{number(random['standard_error'])}, {random['n_episodes']} episodes."
        )
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    machine = ", ".join(f"{name} {value}" for name, value in result["hardware"].items() if value not in ([], ""))
    revision = f", revision {result['revision'][:12]}" if result["revision"] else ""
    changed = " with changes" if result["dirty"] else ""
    return [*found, f"Measured on {result['measured_on']}{revision}{changed}. {machine}. {versions}."]


def _provenance(sources: Iterable[Mapping[str, str]]) -> str:
    rows = []
    for source in sources:
        origin = source["origin"]
        if origin.startswith("http"):
            origin = f"<{origin}>"
        licence = source["licence"] + (f" (`{source['licence_file']}`)" if source["licence_file"] else "")
        rows.append([source["what"], origin, source["revision"] or "–", licence or "–"])
    return _table(("what", "from", "revision", "licence"), rows)


def _section(heading: str, *parts: str) -> str:
    return "\n\n".join([f"## {heading}", *parts])


def _prose(text: str) -> str:
    return textwrap.fill(text[0].upper() + text[1:], WIDTH, break_long_words=False, break_on_hyphens=False)


def _list(items: Iterable[str]) -> str:
    return (
        "\n".join(
            textwrap.fill(f"- {item}", WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
            for item in items
        )
        or "None."
    )


def _names(table: Mapping[str, str]) -> str:
    return _table(("name", "meaning"), [[f"`{name}`", meaning] for name, meaning in table.items()])


def _components(entries: Iterable[Mapping[str, Any]]) -> str:
    rows = [
        [str(place), f"`{name}`", unit, meaning] for place, (name, unit, meaning) in enumerate(map(component, entries))
    ]
    return _table(("", "name", "unit", "meaning"), rows)


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _console(*commands: str) -> str:
    return "\n".join(["```", *commands, "```"])
