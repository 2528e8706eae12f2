"""Numbers the schema requires and the run never reached: 0.0 in the bundle, named in `extra.not_reached`."""

from __future__ import annotations

from benchmark_app.bundle.schema import Bundle, MeanStd


class Gaps:
    """Collects the dotted paths of what was not reached while a bundle is built."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    def number(self, path: str, value: float | None) -> float:
        """`value`, or 0.0 with `path` noted."""
        if value is None:
            self.paths.append(path)
            return 0.0
        return float(value)

    def stat(self, path: str, value: MeanStd | None, *, peak: bool = True) -> MeanStd:
        """`value`, or zeros with `path` noted; `peak` says whether the field has one."""
        if value is None:
            self.paths.append(path)
            return MeanStd(0.0, 0.0, 0.0 if peak else None)
        return value


def is_reached(bundle: Bundle, path: str) -> bool:
    """True if the number at a dotted path, such as `runtime.total_fps.mean`, was measured and does not just stand for
    one: neither it nor an object around it is named in `extra.not_reached`.
    """
    named = str((bundle.extra or {}).get("not_reached", "")).split(",")
    return not any(gap and (path == gap or path.startswith(f"{gap}.")) for gap in named)
