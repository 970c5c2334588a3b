"""Every mistake is made, shows where it should and hides where others were fooled."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from refimpl import exact
from refimpl.fixtures.conventions import CONVENTIONS
from refimpl.mistakes import KINDS, MISTAKES, mutant
from refimpl.ops import OPS, Op, run
from tests.cases import IDS, arguments
from tests.mistakes.inputs import INPUTS, Input, reals

Arrays = dict[str, np.ndarray]
LEAST = {"PRECISION": 1e-4}  # relative difference that shows a mistake
ROUNDING = ("attention.scale_split",)  # the same real numbers, by another way: a difference shows, however small
ALIKE = 1e-12  # and that hides it


def results(op: str | Op, given: Input) -> Arrays:
    """Run an op forward, and backward where an array of it has a gradient."""
    named = OPS[op] if isinstance(op, str) else op
    learned = [name for name in named.gradients if name in given.arrays and given.arrays[name].dtype.kind == "f"]
    arrays, want = dict(given.arrays), list(named.outputs)
    with np.errstate(all="ignore"):
        if named.backward and learned:
            outputs = run(op, given.params, arrays, named.outputs, xp=np)
            cotangents = {f"cot.{name}": reals(f"cot.{name}", outputs[name].shape) for name in named.outputs}
            arrays |= {name: array for name, array in cotangents.items() if name[4:] in given.cotangents}
            want += [f"grad.{name}" for name in learned]
        return run(op, given.params, arrays, want, xp=np)


def difference(got: np.ndarray, want: np.ndarray) -> float:
    """Return the largest difference relative to the largest finite value; infinity for NaN in one of them alone."""
    assert got.shape == want.shape
    got, want = got.astype(np.float64), want.astype(np.float64)  # from booleans as well
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    with np.errstate(invalid="ignore"):
        apart = np.where(same, 0.0, np.abs(got - want))
    largest = float(np.max(np.abs(want), initial=0.0, where=np.isfinite(want)))
    return float(np.max(np.where(np.isnan(apart), np.inf, apart), initial=0.0)) / max(largest, 1.0)


def differences(id: str, given: Input) -> dict[str, float]:
    right, wrong = results(MISTAKES[id].op, given), results(mutant(id), given)
    return {name: difference(wrong[name], right[name]) for name in right}


def least(id: str) -> float:
    return 0.0 if id in ROUNDING else LEAST.get(MISTAKES[id].kind, 1e-3)


def test_every_mistake_has_an_input() -> None:
    assert list(INPUTS) == list(MISTAKES)
    assert sum(hides is not None for _, hides in INPUTS.values()) > len(INPUTS) / 2


@pytest.mark.parametrize("id", MISTAKES)
def test_is_well_described(id: str) -> None:
    mistake = MISTAKES[id]
    assert re.fullmatch(r"[a-z][a-z0-9_]*\.[a-z0-9_]+", id)
    assert mistake.op in OPS
    assert mistake.kind in KINDS
    assert " → " in mistake.description
    assert mistake.effect
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+#[1-9][0-9]*", issue) for issue in mistake.seen)
    assert mistake.convention is None or mistake.op in CONVENTIONS[mistake.convention].ops
    assert mistake.forward or mistake.backward
    assert (mistake.kind == "GRADIENT") <= (mistake.backward is not None)


def test_every_op_and_every_kind_has_two() -> None:
    made = [mistake.op for mistake in MISTAKES.values()]
    kinds = [mistake.kind for mistake in MISTAKES.values()]
    assert min(made.count(op) for op in OPS) >= 2
    assert min(kinds.count(kind) for kind in KINDS) >= 2


def test_unknown_mistake() -> None:
    with pytest.raises(ValueError, match=r"id: got 'rope.none'; allowed: 'embedding.scale_missing', .*"):
        mutant("rope.none")


@pytest.mark.parametrize("id", INPUTS)
def test_shows(id: str) -> None:
    found = differences(id, INPUTS[id][0])
    outputs = max(found[name] for name in OPS[MISTAKES[id].op].outputs)
    gradients = max((value for name, value in found.items() if name.startswith("grad.")), default=0.0)
    if MISTAKES[id].kind == "GRADIENT" or MISTAKES[id].forward is None:
        assert outputs == 0 or outputs < ALIKE
        assert gradients > least(id)
    else:
        assert outputs > least(id)


@pytest.mark.parametrize("id", [id for id, (_, hides) in INPUTS.items() if hides is not None])
def test_hides(id: str) -> None:
    hides = INPUTS[id][1]
    assert hides is not None
    assert max(differences(id, hides).values()) <= ALIKE


# Without a derivative: NaN; a row that takes no gradient by definition; a maximum that kernels take for a constant; a
# score that counts as soon as it is not exactly 0.
INCONSISTENT = {
    "softmax.zero_is_masked",
    "softmax.full_row_nan",
    "attention.full_row_nan",
    "attention.zero_times_inf",
    "embedding.padding_row_zeroed",
    "embedding.padding_zero_ignored",
    "attention.lse_without_max",
    "blocked.never_shrunk",
    "blocked.empty_block_nan",
}
SMOOTH = [
    id
    for id, mistake in MISTAKES.items()
    if OPS[mistake.op].backward and mistake.kind not in ("GRADIENT", "PRECISION") and id not in INCONSISTENT
]


@pytest.mark.parametrize("id", SMOOTH)
def test_gradient_is_that_of_its_own_forward(id: str) -> None:
    given, op = INPUTS[id][0], mutant(id)
    found = results(op, given)
    gradients = {name[5:]: array for name, array in found.items() if name.startswith("grad.")}
    step, total = {name: reals(f"step.{name}", array.shape) for name, array in gradients.items()}, 0.0
    for sign in (1, -1):
        moved = {name: given.arrays[name] + sign * 1e-6 * array for name, array in step.items()}
        with np.errstate(all="ignore"):
            at = run(op, given.params, given.arrays | moved, op.outputs, xp=np)
        for name in op.outputs:
            finite = np.isfinite(at[name])  # the lse of an empty row does not move
            total += sign * float(np.sum(reals(f"cot.{name}", at[name].shape)[finite] * at[name][finite])) / 2e-6
    want = sum(float(np.sum(step[name] * array)) for name, array in gradients.items())
    size = sum(float(np.sum(np.abs(step[name] * array))) for name, array in gradients.items())
    assert total == pytest.approx(want, rel=1e-6, abs=1e-6 * max(size, 1.0))


@pytest.mark.parametrize("id", MISTAKES)
def test_runs_in_the_nearest_arithmetic(id: str) -> None:
    op, given = mutant(id), INPUTS[id][0]

    def compute(xp: Any) -> dict[str, Any]:
        arrays = {name: xp.asarray(array, wide=name == "positions") for name, array in given.arrays.items()}
        return run(op, given.params, arrays, op.outputs, xp=xp)

    want = {name: array for name, array in results(op, given).items() if name in op.outputs}
    found = {profile: exact.nearest(compute, profile) for profile in ("f64", "f32", "bf16")}
    assert max(difference(found["f64"][name], want[name]) for name in want) < 1e-9
    assert all(found[profile][name].shape == want[name].shape for profile in found for name in want)


@pytest.mark.parametrize("id", MISTAKES)
def test_raises_on_no_case(id: str) -> None:
    for case in IDS:
        op, params, inputs, want = arguments(case)
        if op == MISTAKES[id].op:
            with np.errstate(all="ignore"):
                assert set(run(mutant(id), params, inputs, want, xp=np)) == set(want)
