"""The verb `serve`: one task's environments for whoever knows the token, until it is stopped."""

from __future__ import annotations

import argparse
import os
import signal
from dataclasses import asdict
from pathlib import Path

from benchmark_app.bundle.write import write_json_file
from benchmark_app.compose import settings_of
from benchmark_app.execution.served import auth
from benchmark_app.execution.served.address import AddressError, loopback
from benchmark_app.execution.served.frames import PROTOCOL
from benchmark_app.execution.served.listening import make_offer
from benchmark_app.execution.served.server import Server
from benchmark_app.explain import HYDRA_ERRORS, explain
from benchmark_app.refusal import refuse
from benchmark_app.settings import Settings

SERVED = ("task.", "physics=", "physics.", "rendering=", "rendering.", "camera=", "threads=")
"""How the settings begin that decide what is served."""
MOST_SESSIONS, MOST_ENVS, MOST_PORT = 64, 2**20, 65535


def serve(arguments: list[str]) -> int:
    """Serve environments; see `--help`.

    Returns:
        Exit status: 0 stopped by SIGINT or SIGTERM, 2 refused.
    """
    args = _parser().parse_intermixed_args(arguments)
    for name, least, most in (
        ("max_envs", 1, MOST_ENVS),
        ("max_sessions", 1, MOST_SESSIONS),
        ("port", 0, MOST_PORT),
    ):
        if not least <= getattr(args, name) <= most:
            option = f"--{name.replace('_', '-')}"
            return refuse(f"serve: {option} {getattr(args, name)}: must be from {least} to {most}")
    try:
        Path(args.logs).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return refuse(f"serve: --logs {args.logs}: cannot be made ({error.strerror})")
    if beside := [text for text in args.settings if not text.lstrip("+~").startswith(SERVED)]:
        return refuse(
            f"serve: {beside[0]}: is not of the environments; leave it out (a server takes the settings of the task, "
            "the engine and the renderer, and threads)"
        )
    options = ["--config-dir", args.config_dir] if args.config_dir else []
    # A workflow without a library: none need be installed where only an engine is.
    composed = [*options, f"task={args.task}", "workflow=runtime", *args.settings]
    try:
        settings = settings_of(composed)
    except HYDRA_ERRORS as error:
        return refuse(explain(error, composed))
    try:
        host = loopback(args.host, "serve: --host")
        token = _token(args.token_file)
    except (AddressError, auth.TokenError) as error:
        return refuse(str(error))
    return _serve(args, settings, host, token)


def _serve(args: argparse.Namespace, settings: Settings, host: str, token: str) -> int:
    environments = {
        "task": asdict(settings.task),
        "physics": settings.physics.name,
        "physics_settings": settings.physics.keywords(),
        "rendering": settings.rendering.name,
        "threads": settings.threads,
    }
    offer = make_offer(
        environments, max_envs=args.max_envs, max_sessions=args.max_sessions, logs=os.path.abspath(args.logs)
    )
    try:
        server = Server(offer, token, host, args.port)
    except OSError as error:
        return refuse(
            f"serve: --port {args.port}: cannot be listened on ({os.strerror(error.errno or 0)}); name another, or 0"
        )
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: server.stop())
    if args.ready_file is not None:
        ready = {"host": host, "port": server.address[1], "pid": os.getpid(), "protocol": PROTOCOL}
        try:
            write_json_file(ready, args.ready_file)
        except OSError as error:
            return refuse(f"serve: --ready-file {args.ready_file}: cannot be written ({error.strerror})")
    where = f"[{host}]" if ":" in host else host
    print(f"serving {settings.task.name} on {where}:{server.address[1]} (process {os.getpid()})", flush=True)
    server.serve()
    print("stopped; every session is closed", flush=True)
    return 0


def _token(file: str | None) -> str:
    """The token: from the file, or from the environment; or a new one, which is then written to the file.

    Raises:
        auth.TokenError: There is none, or it must not be used.
    """
    if file is not None and not Path(file).expanduser().exists():
        token = auth.new_token()
        try:
            auth.write_token(Path(file).expanduser(), token)
        except OSError as error:
            raise auth.TokenError(f"serve: --token-file {file}: cannot be written ({error.strerror})") from None
        return token
    if (found := auth.read_token(file, "serve: --token-file")) is None:
        raise auth.TokenError(
            f"serve: there is no token; type --token-file FILE (it is made if it is not there), or set {auth.VARIABLE}"
        )
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmark_app serve",
        description="Serve a task's environments to runs on this machine, which ask for them with execution=served "
        "execution.address=HOST:PORT execution.token_file=FILE. It prints where it listens, and serves until Ctrl-C or "
        "SIGTERM, which closes every session.",
        epilog="Example: serve cartpole physics=ovphysx --token-file ~/serve.token --port 5555",
    )
    parser.add_argument("task", metavar="TASK", help="name of the task")
    parser.add_argument("settings", nargs="*", metavar="SETTING=VALUE", help="of task, engine, renderer; threads=N")
    parser.add_argument("--config-dir", metavar="FOLDER", help="tasks and presets of your own")
    parser.add_argument("--host", default="127.0.0.1", help="a loopback address (%(default)s)")
    parser.add_argument("--port", type=int, default=0, help="any that is free, by default")
    parser.add_argument(
        "--token-file",
        metavar="FILE",
        help=f"what clients must know; made, for you alone, if it is not there; by default {auth.VARIABLE} holds it",
    )
    parser.add_argument("--ready-file", metavar="FILE", help="write host, port and process id there once it listens")
    parser.add_argument("--max-envs", type=int, default=4096, metavar="N", help="rows of a session (%(default)s)")
    parser.add_argument("--max-sessions", type=int, default=1, metavar="N", help="sessions at a time (%(default)s)")
    parser.add_argument(
        "--logs", metavar="DIR", default="outputs/served", help="folder for what sessions print and dump (%(default)s)"
    )
    return parser
