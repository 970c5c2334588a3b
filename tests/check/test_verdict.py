"""One case, one implementation, one verdict."""

from typing import Any

import numpy as np
import pytest

from refimpl.check.entry import Answer
from refimpl.check.verdict import assess, judge
from refimpl.fixtures.read import LoadedCase
from tests.check import adapters

Loaded = dict[str, LoadedCase]


@pytest.mark.parametrize("profile", ["f64", "f32", "bf16", "f16"])
def test_a_right_implementation_passes_everywhere(loaded: Loaded, profile: str) -> None:
    for case in loaded.values():
        if profile in case.profiles:
            verdict = judge(case, profile, adapters.right)
            assert (verdict.status, verdict.diagnosis) == ("passed", None), verdict
            assert list(verdict.outputs) == [name for name in verdict.outputs if verdict.outputs[name].budget <= 1]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda name, x: x * np.float32(np.nan), "NaN"),
        (lambda name, x: x[..., :-1], "shape (2, 3, 4), want (2, 3, 5)"),
        (lambda name, x: x.astype(np.float64), "dtype float64, want float32"),
        (lambda name, x: x + np.float32(1e-3), "out of tolerance"),
        (lambda name, x: x.tolist(), "dtype float64, want float32"),
    ],
)
def test_wrong_values_shapes_and_dtypes_fail(loaded: Loaded, change: Any, reason: str) -> None:
    verdict = judge(loaded["softmax/masked_row"], "f32", adapters.altered(change))
    assert (verdict.status, verdict.outputs["y"].reason) == ("failed", reason)


@pytest.mark.parametrize(
    ("implementation", "problem"),
    [
        (adapters.altered(lambda name, x: None if name == "grad.x" else x), "grad.x is missing"),
        (adapters.nothing, "the result is None"),
        (
            adapters.altered(lambda name, x: x.astype(object)),
            "y is a ndarray of dtype object, want an array of numbers",
        ),
        (adapters.altered(lambda name, x: np.full(x.shape, "1")), "y is a ndarray of dtype <U1, want an array"),
        (lambda op, params, inputs, want: adapters.right(op, params, inputs, want) | {"lse": 0.0}, "lse was not asked"),
    ],
)
def test_missing_extra_and_unreadable_outputs_fail(loaded: Loaded, implementation: Any, problem: str) -> None:
    verdict = judge(loaded["softmax/masked_row"], "f32", implementation)
    assert verdict.status == "failed"
    assert verdict.answer.problems[0].startswith(problem)


def test_a_crash_fails_and_unsupported_does_not(loaded: Loaded) -> None:
    assert judge(loaded["rope/interleaved"], "f32", adapters.crashes).status == "failed"
    assert judge(loaded["rope/interleaved"], "f32", adapters.declines).status == "unsupported"


def test_an_implementation_that_prints_and_writes_into_its_inputs_harms_nothing(loaded: Loaded) -> None:
    case = loaded["rope/interleaved"]
    first, second = (judge(case, "f32", adapters.speaks) for _ in range(2))
    assert first.outputs == second.outputs
    assert (first.status, first.answer.printed) == ("passed", "compiling kernel for rope")


def test_suspicious_is_told_from_passed(loaded: Loaded) -> None:
    case = loaded["softmax/full_mantissa"]
    want, tol = case.expected["grad.x"], case.tolerance("f64")["grad.x"]
    index = np.unravel_index(np.argmax(tol), tol.shape)
    moved = case.expected["grad.x"].copy()
    moved[index] = want[index] + 0.9 * tol[index]
    verdict = assess(case, "f64", Answer("ok", {"y": case.expected["y"], "grad.x": moved}))
    assert verdict.outputs["grad.x"].honest > 16
    assert verdict.status == "suspicious"
    assert assess(case, "f64", Answer("ok", case.expected)).status == "passed"
