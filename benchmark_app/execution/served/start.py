"""From a run's settings to a session: with a server that runs, or with one of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from benchmark_app.execution.cfg import ExecutionCfg
from benchmark_app.execution.hosting import task_of
from benchmark_app.execution.link import LinkError

from .agreement import describe
from .calling import server_of
from .client import Client, ServerError, ServerRefusal
from .link import ServedLink
from .owned import OwnedServer
from .told import may_mark


def start(
    environments: Mapping[str, Any],
    num_envs: int,
    execution: ExecutionCfg,
    log_of: Callable[[int], Path] | None = None,
) -> ServedLink:
    """Open a session.

    Args:
        environments: Keyword arguments of `hosting.make_host`, but for the rows.
        num_envs: Rows.
        execution: Which server, or which interpreter to start one in.
        log_of: Files for the output of what is started, by number.

    Raises:
        ServerRefusal: There is none, or it serves something else; every field that differs is named.
        LinkError: It was lost meanwhile.
        Exception: What building the environments raised.
    """
    settings = {name: value for name, value in environments.items() if name != "device"}
    owner: OwnedServer | None = None
    client: Client | None = None
    try:
        if execution.address is None:
            owner = OwnedServer(
                execution.python or sys.executable,
                settings,
                max_envs=num_envs,
                max_sessions=1,
                timeout_s=execution.start_timeout_s,
                log=None if log_of is None else log_of(0),
            )
        client = _connect(execution, owner)
        task, given = task_of(environments["task"]), environments.get("physics_settings") or {}
        served = client.require(describe(task, environments["physics"], given, environments.get("rendering")))
        return ServedLink(client, num_envs, environments.get("device", "cpu"), owner, served)
    except BaseException as error:
        # A server of our own refuses nothing: it was ended while we spoke to it.
        lost = isinstance(error, ServerError) or (owner is not None and isinstance(error, ServerRefusal))
        how = owner.epitaph() if lost and owner is not None else ""
        if client is not None:
            client.close()
        if owner is not None:
            owner.close()
        if lost:
            raise LinkError(how or str(error)) from None
        raise


def _connect(execution: ExecutionCfg, owner: OwnedServer | None) -> Client:
    connect = partial(
        Client, timeout_s=execution.timeout_s, start_timeout_s=execution.start_timeout_s, may_mark=may_mark
    )
    if owner is not None:
        return connect(owner.address, owner.token, epitaph=owner.epitaph)
    address, token = server_of(execution)
    try:
        return connect(address, token)
    except ServerRefusal as error:
        raise ServerRefusal(f"execution.address={execution.address}: {error}") from None
