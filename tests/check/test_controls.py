"""The controls, and that they notice a broken checker."""

import io

import numpy as np
import pytest
from rich.console import Console

from refimpl.check import compare, controls, verdict
from refimpl.check.run import Pair, pairs
from refimpl.fixtures.read import LoadedCase


@pytest.fixture
def chosen(loaded: dict[str, LoadedCase]) -> list[Pair]:
    return pairs(loaded.values())


def test_all_controls_end_as_they_must(chosen: list[Pair]) -> None:
    found = controls.run_controls(chosen)
    assert [control.name for control in found][1:] == list(controls.CONTROLS)
    assert len(found) == 8
    for control in found:
        assert control.holds, control
        assert control.tried > len(chosen) / 2
    assert found[0].tried == len(chosen)


def printed(found: list[controls.Control]) -> tuple[bool, str]:
    stream = io.StringIO()
    return controls.print_controls(Console(file=stream, width=100), found), stream.getvalue()


@pytest.mark.parametrize("wrong", [True, False])
def test_a_checker_that_always_says_the_same_is_broken(
    chosen: list[Pair], monkeypatch: pytest.MonkeyPatch, wrong: bool
) -> None:
    result = compare.Comparison(not wrong, "no" if wrong else "")
    monkeypatch.setattr(verdict, "compare", lambda *args, **options: result)
    found = controls.run_controls(chosen)
    broken, text = printed(found)
    assert broken
    assert "CHECKER BROKEN" in text
    assert found[0].holds != wrong
    assert any(not control.holds for control in found[1:]) != wrong


def test_a_comparison_that_lets_nan_pass_is_noticed(chosen: list[Pair], monkeypatch: pytest.MonkeyPatch) -> None:
    def lenient(got: np.ndarray, *args: object, **options: object) -> compare.Comparison:
        found = compare.compare(got, *args, **options)  # type: ignore[arg-type]
        return found._replace(ok=True) if found.reason == "NaN" else found

    monkeypatch.setattr(verdict, "compare", lenient)
    found = controls.run_controls(chosen)
    assert [control.name for control in found if not control.holds] == ["NaN"]


def test_doubling_the_tolerance_is_noticed(chosen: list[Pair], monkeypatch: pytest.MonkeyPatch) -> None:
    def lenient(got: np.ndarray, want: np.ndarray, tol: np.ndarray, **options: object) -> compare.Comparison:
        return compare.compare(got, want, 2.1 * tol.astype(np.float64), **options)  # type: ignore[arg-type]

    monkeypatch.setattr(verdict, "compare", lenient)
    names = [control.name for control in controls.run_controls(chosen) if not control.holds]
    assert names == ["expected + 2 tol at one element"]


def test_a_control_that_is_tried_nowhere_does_not_hold(loaded: dict[str, LoadedCase]) -> None:
    found = controls.run_controls([(loaded["alibi_slopes/six_heads"], "f32")])
    assert {control.name: control.tried for control in found}["a copy of an input"] == 0
    broken, text = printed(found)
    assert broken
    assert "tried nowhere" in text


def test_the_table_says_what_each_must_do(chosen: list[Pair]) -> None:
    broken, text = printed(controls.run_controls(chosen[:8]))
    assert not broken
    assert "CHECKER SOUND  all 8 controls end as they must" in text
    assert "expected values" in text
    assert text.count(" fail ") == 7
