"""A comparison as JUnit XML: a test suite per workload, a test case per metric."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence

from benchmark_app.analysis.comparison import Comparison, MetricResult
from benchmark_app.analysis.writers import wording

_COUNTS = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}  # attribute → element


def write_junit(comparison: Comparison, advice: Sequence[str] = ()) -> str:
    """A regression is a failure, what NEW lost an error, and what nothing can be said about is skipped."""
    root = ET.Element("testsuites", name="benchmark_app compare")
    for group in comparison.groups:
        suite = ET.SubElement(root, "testsuite", name=wording.printable(wording.title(comparison, group)))
        for result in group.metrics:
            case = _element(
                suite, "testcase", classname=wording.name(comparison, group.workload), name=result.metric.name
            )
            _answer(case, result, comparison.is_lost(result), advice)
    if comparison.refusals:
        suite = ET.SubElement(root, "testsuite", name="not comparable")
        for refusal in comparison.refusals:
            case = _element(suite, "testcase", classname=wording.name(comparison, refusal.workload), name="comparable")
            _element(case, "error", message=refusal.reason)
    for element in (*root, root):
        for attribute, tag in _COUNTS.items():
            element.set(attribute, str(sum(1 for _ in element.iter(tag))))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _answer(case: ET.Element, result: MetricResult, is_lost: bool, advice: Sequence[str]) -> None:
    word = result.judgement.verdict
    numbers = f"{wording.change(result.judgement.change, result)} ({wording.interval(result)})"
    if word == "regressed":
        failure = _element(case, "failure", message=f"regressed by {numbers}", type="regressed")
        failure.text = "\n".join(map(wording.printable, [" | ".join(wording.row(result)), *advice]))
    elif is_lost:
        _element(case, "error", message=wording.verdict(result))
    elif word in ("underpowered", "not comparable"):
        _element(case, "skipped", message=wording.verdict(result))


def _element(parent: ET.Element, tag: str, **attributes: str) -> ET.Element:
    return ET.SubElement(parent, tag, {key: wording.printable(value) for key, value in attributes.items()})
