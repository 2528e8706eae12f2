"""Energy that processors count themselves, through Linux' powercap (RAPL).

Since 2020 most systems let only root read it. Where it cannot be read there is none.
"""

from __future__ import annotations

import re
from pathlib import Path

from . import small_files

POWERCAP = Path("/sys/class/powercap")
# Whole processor packages. Their parts (core, uncore) are in them; memory (dram) and the board (psys) are told apart
# on some machines only. The same package shows a second time as intel-rapl-mmio.
_PACKAGE = re.compile(r"intel-rapl:\d+$")


class CpuEnergy:
    """Counts the energy of all processor packages from its making on.

    Args:
        powercap: Where the counters are.
    """

    def __init__(self, powercap: Path = POWERCAP) -> None:
        self._counters: dict[Path, tuple[int, int]] = {}  # → last value, where it begins again [uJ]
        self._joules = 0.0
        for folder in small_files.folders(powercap):
            named = (small_files.text(folder / "name") or "").startswith("package")
            if _PACKAGE.match(folder.name) and named:
                value = small_files.integer(folder / "energy_uj")
                largest = small_files.integer(folder / "max_energy_range_uj")
                if value is not None and largest is not None:
                    self._counters[folder] = value, largest + 1

    def read(self) -> float | None:
        """Energy since the making of this object [J]; None where it cannot be read.

        It must be read before a counter has gone round twice, which takes many minutes.
        """
        if not self._counters:
            return None
        for folder, (before, modulus) in self._counters.items():
            now = small_files.integer(folder / "energy_uj")
            if now is None:
                return None
            self._joules += (now - before) % modulus / 1e6
            self._counters[folder] = now, modulus
        return self._joules
