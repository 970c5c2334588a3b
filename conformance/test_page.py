"""The page: a changed verdict is seen, a changed figure is not."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.figures import budget, cell, times
from conformance.measure import FAILED, OTHER, PASSED, SUSPICIOUS, Result
from conformance.page import changes, render, section
from conformance.processes import Run
from refimpl.check.claims import Claims

CLAIM = {"profiles": ["f32"], "gradients": True, "conventions": None}
CASES = [SimpleNamespace(id=f"softmax/{name}", op="softmax", profiles=("f32",)) for name in ("one", "two", "three")]
PACK: Any = SimpleNamespace(cases=CASES, manifest={"version": "0"})


def run(*results: Result) -> Run:
    return Run("lib", "Lib", "1.2", Claims("Lib 1.2", {"softmax": CLAIM}, []), results, about="What is called.")


def result(name: str, status: str = PASSED, budget: float = 0.5, honest: float = 2.0, **more: Any) -> Result:
    return Result(f"softmax/{name}", "softmax", "f32", status, budget, honest, **more)


BEFORE = run(result("one"), result("two", FAILED, math.nan, math.nan, failing=("y",), reason="why", seen="a/b.py"))


def test_figures_versions_and_suspicion_are_no_verdicts() -> None:
    found = BEFORE._replace(version="1.3", results=(result("one", SUSPICIOUS, 0.75, 31.0), BEFORE.results[1]))
    assert section(found, PACK) != section(BEFORE, PACK)
    assert changes(render([BEFORE], PACK), found, PACK) == []


@pytest.mark.parametrize(
    "found",
    [
        run(result("one"), result("two")),
        run(result("one"), BEFORE.results[1]._replace(status=OTHER, mistake="softmax.full_row_nan")),
        run(BEFORE.results[1], result("one", FAILED, failing=("y",), reason="another")),
        run(*BEFORE.results, result("three")),
    ],
)
def test_changed_verdicts(found: Run) -> None:
    assert changes(render([BEFORE], PACK), found, PACK)


def test_a_framework_that_is_not_on_the_page() -> None:
    assert changes(render([BEFORE], PACK), BEFORE._replace(name="Li"), PACK) == ["not on the page"]


def test_summary_counts_what_passes() -> None:
    text = render([BEFORE], PACK)
    assert "| [Lib 1.2](#lib-12) | – | – | – | 1 of 2 | 1 | 0 | 1 |" in text
    assert "| softmax | 2 of 3 | – | 0.50 · 2.0×, **1 fails** | – | – |" in text


def test_numbers() -> None:
    assert [budget(x) for x in (0.0, 0.0123, 0.5, 0.987, math.nan)] == ["0.00", "0.012", "0.50", "0.99", "–"]
    assert [times(x) for x in (0.0, 9.94, 110.6, math.inf)] == ["0.0×", "9.9×", "111×", "1000000000×"]
    assert cell([]) == "–"
    assert cell([result("one", budget=0.0, honest=0.0)]) == "0.00"
