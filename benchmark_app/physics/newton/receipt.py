"""What Newton's engines give a caller on CUDA, where a step returns before its work is done."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ..base import CompletionToken


@dataclass(frozen=True)
class EventReceipt(CompletionToken):
    """Receipt for work on a CUDA device.

    Attributes:
        event: Recorded behind the step's last work.
    """

    event: torch.cuda.Event

    def wait_before_read(self, stream: torch.cuda.Stream | None = None) -> None:
        """Have a stream wait for the event; see `CompletionToken.wait_before_read`."""
        super().wait_before_read(stream)
        (torch.cuda.current_stream() if stream is None else stream).wait_event(self.event)
