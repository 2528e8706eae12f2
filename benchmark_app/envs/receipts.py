"""Completion receipts: what an engine promises is either kept, or the step fails."""

from __future__ import annotations

from benchmark_app.physics.base import RECEIPT_VERSION, CompletionToken

__all__ = ["RECEIPT_VERSION", "CompletionToken", "ReceiptCheck"]


class ReceiptCheck:
    """Accepts one engine's receipts in their order. The first one tells who the producer is."""

    def __init__(self) -> None:
        self._last: CompletionToken | None = None

    def accept(self, token: object) -> CompletionToken:
        """The receipt, if it is one for the step just taken.

        Args:
            token: What `SimBackend.receipt` gave.

        Raises:
            RuntimeError: It is missing, stale, of another producer or of another version.
        """
        if not isinstance(token, CompletionToken):
            raise RuntimeError(f"the engine promised a completion receipt and gave {token!r}")
        if token.version != RECEIPT_VERSION:
            raise RuntimeError(f"completion receipt of version {token.version}, expected {RECEIPT_VERSION}")
        if self._last is not None:
            if token.producer_id != self._last.producer_id:
                raise RuntimeError(f"completion receipt of {token.producer_id!r}, expected {self._last.producer_id!r}")
            if token.sequence <= self._last.sequence:
                raise RuntimeError(
                    f"stale completion receipt: sequence {token.sequence}, the last was {self._last.sequence}"
                )
        self._last = token
        return token
