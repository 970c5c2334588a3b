"""A wrong result is named; what no mistake explains is described."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from refimpl.check.causes import cause
from refimpl.check.diagnose import CONVENTION, NAMED, UNKNOWN, Diagnosis
from refimpl.check.run import agreed, judge_all, pairs
from refimpl.check.verdict import judge
from refimpl.fixtures.build import generate
from refimpl.fixtures.cases import CASES
from refimpl.fixtures.place import place
from refimpl.fixtures.read import LoadedCase, read
from refimpl.fixtures.verify import verify
from refimpl.mistakes import MISTAKES, together
from tests.check import adapters

Loaded = dict[str, LoadedCase]


def diagnosed(case: LoadedCase, profile: str, implementation: Any) -> Diagnosis:
    diagnosis = judge(case, profile, implementation).diagnosis
    assert diagnosis is not None
    return diagnosis


SLOW = ("attention", "sinusoidal")


@pytest.mark.parametrize(("profile", "skipped"), [("f32", ()), ("f64", SLOW), ("bf16", SLOW)])
def test_every_mistake_is_named_in_every_case_that_catches_it(
    loaded: Loaded, profile: str, skipped: tuple[str, ...]
) -> None:
    wrong, tried = [], 0
    for case in (case for case in loaded.values() if case.op not in skipped):
        for caught in (caught for caught in case.description["catches"] if caught["profile"] == profile):
            verdict = judge(case, profile, adapters.mistaken(caught["mistake"]))
            tried += 1
            if verdict.diagnosis is None or caught["mistake"] not in verdict.diagnosis.mistakes:
                wrong.append((case.id, caught["mistake"], verdict.status))
    assert tried > 30
    assert wrong == []


def test_the_verdict_says_whether_it_is_a_convention(loaded: Loaded) -> None:
    for id, verdict in (("rope.layout_swapped", CONVENTION), ("rope.conjugate", NAMED)):
        assert (MISTAKES[id].convention is not None) == (verdict == CONVENTION)
        found = diagnosed(loaded["rope/interleaved"], "f32", adapters.mistaken(id))
        assert (found.verdict, found.mistakes[0], found.hints) == (verdict, id, ())


def test_two_mistakes_at_once_are_none(loaded: Loaded) -> None:
    swapped = adapters.mistaken("rope.layout_swapped")
    both = lambda *args: {name: 2 * x for name, x in swapped(*args).items()}  # noqa: E731
    found = diagnosed(loaded["rope/interleaved"], "f32", both)
    assert (found.verdict, found.mistakes) == (UNKNOWN, ())


def test_right_values_in_a_wrong_dtype_are_no_mistake(loaded: Loaded) -> None:
    wide = adapters.altered(lambda name, x: x.astype(np.float64))
    assert judge(loaded["rope/interleaved"], "f32", wide).diagnosis is None


def test_a_mistake_in_one_output_is_named_where_the_rest_is_right(loaded: Loaded) -> None:
    wrong = adapters.altered(lambda name, x: x / np.log(x.dtype.type(2)) if name == "lse" else x)
    found = diagnosed(loaded["attention/gqa_6_2"], "f32", wrong)
    assert found.mistakes == ("attention.lse_base_two",)


def test_one_output_alone_is_named_where_another_is_wrong_otherwise(loaded: Loaded) -> None:
    def wrong(op: str, params: Any, inputs: Any, want: Any) -> Any:
        swapped = adapters.swapped(op, params, inputs, want)
        return swapped | {name: x * np.float32(3) for name, x in swapped.items() if name == "grad.cos"}

    found = diagnosed(loaded["rope/interleaved"], "f32", wrong)
    assert found.verdict == UNKNOWN
    assert "y alone matches rope.layout_swapped" in found.hints
    assert not any(hint.startswith("grad.cos alone") for hint in found.hints)


def test_forward_only_is_named_from_what_came_back(loaded: Loaded) -> None:
    def wrong(*args: Any) -> Any:
        return {"y": adapters.swapped(*args)["y"]}

    verdict = judge(loaded["rope/interleaved"], "f32", wrong)
    assert verdict.answer.problems == ("grad.x is missing", "grad.cos is missing", "grad.sin is missing")
    assert verdict.diagnosis is not None
    assert verdict.diagnosis.mistakes[0] == "rope.layout_swapped"


def test_cases_agree_on_what_one_alone_leaves_open(loaded: Loaded) -> None:
    case = loaded["rope/interleaved"]
    (verdict,) = judge_all([(case, "f32")], adapters.swapped)
    ambiguous = verdict._replace(diagnosis=Diagnosis(NAMED, ("rope.other", "rope.layout_swapped")))
    settled = agreed([ambiguous, verdict, ambiguous._replace(op="linear")])
    found = [v.diagnosis.mistakes[0] for v in settled if v.diagnosis]
    assert found == ["rope.layout_swapped", "rope.layout_swapped", "rope.other"]


def test_a_little_too_far_off_is_not_taken_for_a_mistake_that_changes_nothing_here(loaded: Loaded) -> None:
    case = loaded["softmax/full_mantissa"]
    y, tol = case.expected["y"].copy(), case.tolerance("f64")["y"]
    y[0, 0] += 1.5 * tol[0, 0]
    found = diagnosed(case, "f64", lambda *_: case.expected | {"y": y})
    assert (found.verdict, found.mistakes) == (UNKNOWN, ())


def both(one: str, other: str) -> Any:
    """Return an implementation with two mistakes of one op."""
    op = MISTAKES[one].op
    return lambda name, *args: adapters.right(together(one, other) if name == op else name, *args)


@pytest.mark.parametrize(
    ("op", "bug", "beside", "how"),
    [
        ("rope", "rope.conjugate", "rope.layout_swapped", "under another convention"),
        ("attention", "attention.scale_none", "attention.lse_base_two", "two mistakes at once"),
    ],
)
def test_a_mistake_under_another_convention_and_two_at_once(
    loaded: Loaded, op: str, bug: str, beside: str, how: str
) -> None:
    cases = [case for case in loaded.values() if case.op == op]
    verdicts = judge_all(pairs(cases, ["f32", "bf16"]), both(bug, beside))
    found = {(v.diagnosis.mistakes[0], v.diagnosis.beside) for v in verdicts if v.diagnosis and v.diagnosis.beside}
    assert found <= {(bug, beside), (beside, bug)}
    assert found
    told = next(cause(v) for v in verdicts if v.diagnosis and v.diagnosis.beside)
    assert told.remark == how
    assert {bug, beside} == set(told.name.split(" + "))


def test_what_no_two_mistakes_give_stays_unknown(loaded: Loaded) -> None:
    wrong = adapters.altered(lambda name, x: x * x.dtype.type(1.7))
    verdicts = judge_all(pairs(loaded.values(), ["f32"]), wrong)
    assert {v.diagnosis.beside for v in verdicts if v.diagnosis} == {""}


def test_sums_in_float16_are_recognised(tmp_path: Path) -> None:
    case_id = "token_embedding/two_hundred_repeats"
    place(tmp_path / "fixtures", generate([CASES[case_id]], jobs=1).files, verify)
    (case,) = read(tmp_path / "fixtures").cases

    def accumulates(op: str, params: Any, inputs: Any, want: Any) -> Any:
        found = adapters.right(op, params, inputs, want)
        gradient = np.zeros_like(found["grad.weight"])
        rows = inputs["cot.y"].reshape(-1, gradient.shape[1])
        for id, row in zip(inputs["ids"].ravel(), rows, strict=True):
            gradient[id] += row
        return found | {"grad.weight": gradient}

    for profile in ("bf16", "f16"):
        assert diagnosed(case, profile, accumulates).mistakes == ("embedding.grad_accumulated_in_16_bits",)
