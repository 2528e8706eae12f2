"""What an engine can do, as data. This module is light: nothing is imported for it."""

from __future__ import annotations

from dataclasses import dataclass, fields

DEVICES = ("cpu", "cuda")


@dataclass(frozen=True, kw_only=True)
class BackendCapabilities:
    """What an engine can do; every claim is checked by a contract test on the machine it runs on.

    Attributes:
        devices: Torch device types it runs on.
        row_reset: Selected rows can be reset while all others stay bitwise unchanged.
        row_independent: What a row does depends, bitwise, neither on the other rows nor on how many there are.
        deterministic: The same inputs give bitwise the same states, in another process too.
        graph_replay: All substeps of a control step, and what the environment launches around them, are replayed as
            one recorded graph.
        floating_base: It simulates robots whose root is free.
        contacts: It simulates contacts, with the ground and between links.
        exact_state: After `import_state` of what `export_state` gave, every later step is bitwise the same.
        completion_receipts: A step returns before its work is done; `receipt` then gives what to wait for.

    Raises:
        TypeError: A value is not of its type.
        ValueError: Claims that contradict each other; the message names them.
    """

    devices: tuple[str, ...]
    row_reset: bool
    row_independent: bool
    deterministic: bool
    graph_replay: bool
    floating_base: bool
    contacts: bool
    exact_state: bool = False
    completion_receipts: bool = False

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "devices":
                if not (isinstance(value, tuple) and all(isinstance(device, str) for device in value)):
                    raise TypeError(f"devices={value!r}: must be a tuple of torch device types")
            elif not isinstance(value, bool):
                raise TypeError(f"{field.name}={value!r}: must be True or False")
        if not self.devices or len(set(self.devices)) < len(self.devices) or set(self.devices) - set(DEVICES):
            raise ValueError(f"devices={self.devices}: must be some of {', '.join(DEVICES)}, each once")
        if self.exact_state and not self.deterministic:
            raise ValueError("exact_state=True needs deterministic=True: otherwise no state decides the next step")
        if self.row_independent and not self.row_reset:
            raise ValueError("row_independent=True needs row_reset=True: a reset would reach the other rows")
        if self.completion_receipts and "cuda" not in self.devices:
            raise ValueError("completion_receipts=True needs 'cuda' in devices: on a CPU a step is done on return")
