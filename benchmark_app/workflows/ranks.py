"""Agreement among the processes that train one policy."""

from __future__ import annotations

import torch
from torch import distributed


class Ranks:
    """The ranks of a training, which the library has connected, seen from one of them.

    Args:
        rank: Which this is.

    Raises:
        RuntimeError: The library has not connected them.
    """

    def __init__(self, rank: int) -> None:
        if not distributed.is_initialized():
            raise RuntimeError("the library did not connect its ranks: torch.distributed has no process group")
        self.rank = rank
        # On the CPU, whatever the library's own connection is: asking must not wait for a device.
        self._group = distributed.new_group(backend="gloo")

    def any(self, wish: bool) -> bool:
        """Whether any rank wishes it. All ranks must ask, at the same place of their loops."""
        wishes = torch.tensor(float(wish))
        distributed.all_reduce(wishes, group=self._group)
        return bool(wishes)
