"""Reaching a server that runs already, before anything is started. No NumPy here."""

from __future__ import annotations

from contextlib import closing

from benchmark_app.envs.cfg import EnvCfg
from benchmark_app.execution.cfg import ExecutionCfg
from benchmark_app.physics.cfg import EngineCfg

from . import auth
from .address import parse_address
from .agreement import describe
from .client import Client, ServerError, ServerRefusal


def problem_of_server(execution: ExecutionCfg, task: EnvCfg, physics: EngineCfg, rendering: str, num_envs: int) -> str:
    """What keeps a run from using the server at `execution.address`, "" if nothing does."""
    try:
        address, token = server_of(execution)
        client = Client(address, token, timeout_s=execution.timeout_s, start_timeout_s=execution.start_timeout_s)
        with closing(client):
            served = client.require(describe(task, physics.name, physics.keywords(), rendering))
            if type(most := served.get("max_envs")) is int and num_envs > most:
                return f"num_envs={num_envs}: the server at {execution.address} takes 1 to {most} (serve --max-envs)"
    except (ServerRefusal, ServerError) as error:
        return f"execution.address={execution.address}: {error}"
    return ""


def server_of(execution: ExecutionCfg) -> tuple[tuple[str, int], str]:
    """Address and token of a server that runs already.

    Raises:
        ServerRefusal: One of them cannot be used.
    """
    try:
        address = parse_address(execution.address or "", "execution.address")
        token = auth.read_token(execution.token_file, "execution.token_file")
    except ValueError as error:
        raise ServerRefusal(str(error)) from None
    if token is None:
        raise ServerRefusal(
            f"execution.token_file=null: the server at {execution.address} wants its token; set "
            f"execution.token_file=FILE, or {auth.VARIABLE}"
        )
    return address, token
