"""What is said of a difference that no known mistake explains."""

import math
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from refimpl.check.compare import compare
from refimpl.check.hints import Asked, hints

RNG = np.random.default_rng(5)
WANT = RNG.uniform(0.5, 2.0, (3, 5, 7)) * RNG.choice([-1.0, 1.0], (3, 5, 7))
X = RNG.normal(size=(3, 5, 7))


def said(
    got: np.ndarray,
    want: np.ndarray = WANT,
    tol: float = 1e-6,
    profile: str = "f64",
    op: str = "linear",
    params: Any = MappingProxyType({}),
    **inputs: np.ndarray,
) -> tuple[str, ...]:
    tols = np.full(want.shape, tol)
    found = {"y": compare(got, want, tols, profile="f64", honest=tol)}
    return hints({"y": got}, {"y": want}, {"y": tols}, found, Asked(op, params, inputs, profile))


FACTORS = {2.0: "2", -1.0: "−1", 0.5: "1/2", 5.0: "5", 1.2345: "1.2345"}
FACTORS |= {1 / math.sqrt(7): "0.37796 (1/√7)", 1 / math.log(2): "1.4427 (1/ln 2)"}


@pytest.mark.parametrize(("factor", "name"), FACTORS.items())
def test_a_constant_factor_is_named(factor: float, name: str) -> None:
    assert said(WANT * factor) == (f"y: {name} × the right one",)
    assert not any("×" in remark for remark in said(WANT * factor + 1e-3 * X))


def test_zeros_copies_and_nan() -> None:
    assert said(np.zeros_like(WANT)) == ("y: all 0",)
    assert said(np.full_like(WANT, np.nan)) == ("y: all NaN",)
    assert said(X, x=X) == ("y: a copy of the input x",)
    assert said(X, x=X + 1) == ()


def test_a_constant_shift() -> None:
    assert said(WANT + 0.25) == ("y: the right one + 0.25",)
    assert said(WANT - 3) == ("y: the right one − 3",)


def test_moved_axes() -> None:
    assert said(WANT.transpose(1, 0, 2)) == ("y: the right one with its axes in the order (1, 0, 2)",)
    square = WANT[:, :3, 0]
    assert said(square.T, square)[0] == "y: the right one with its axes in the order (1, 0)"
    assert said(X.transpose(1, 0, 2)) == ()


def test_rounding_to_a_narrower_format() -> None:
    for dtype in (np.float32, np.float16):
        name = np.dtype(dtype).name
        remark = f"y: every value is a {name} number: rounded to it on the way"
        assert remark in said(WANT.astype(dtype).astype(np.float64), tol=1e-12)
        own = {"float32": "f32", "float16": "f16"}[name]  # where it is the format that was asked for
        assert remark not in said(WANT.astype(dtype).astype(np.float64), tol=1e-12, profile=own)
    assert not any("rounded" in remark for remark in said(np.round(X)))


def test_where_it_is_out() -> None:
    got = WANT.copy()
    got[:, 2:, 4] += 1
    assert said(got) == (
        "y: out only from index 2 on of axis 1 (length 5)",
        "y: out only at index 4 of axis 2 (length 7, channel)",
        "y: first wrong: axis 0 0, axis 1 2, channel 4",
    )
    got = WANT.copy()
    got[0, 1:3, :] += X[0, 1:3, :]
    assert said(got) == (
        "y: out only at index 0 of axis 0 (length 3)",
        "y: out only at indices 1 to 2 of axis 1 (length 5)",
        "y: first wrong: axis 0 0, axis 1 1, channel 0",
    )
    got = WANT.copy()
    got[..., 1::2] += X[..., 1::2]
    assert said(got) == (
        "y: out only at indices 1, 3, 5 of axis 2 (length 7, channel)",
        "y: first wrong: axis 0 0, axis 1 0, channel 1",
    )


def test_of_a_single_element_the_index_is_enough() -> None:
    got = WANT.copy()
    got[1, 2, 3] += 1
    assert said(got) == ()


def test_masked_rows() -> None:
    want = WANT.copy()
    want[1, 2, :] = 0
    got = want.copy()
    got[1, 2, :] = 1 / 7
    remark = "y: differs in fully masked rows only"
    assert remark in said(got, want, mask=np.ones(1, bool))
    assert remark not in said(got, want)
    got[0, 0, 0] += 1
    assert remark not in said(got, want, mask=np.ones(1, bool))


def test_only_gradients() -> None:
    names = ("y", "grad.x", "grad.w")
    want, tol = dict.fromkeys(names, WANT), dict.fromkeys(names, np.full(WANT.shape, 1e-6))
    got = want | {"grad.x": 2 * WANT, "grad.w": 2 * WANT}
    found = {name: compare(got[name], WANT, tol[name], profile="f64", honest=1e-6) for name in names}
    asked = Asked("linear", {}, {}, "f64")
    assert hints(got, want, tol, found, asked) == (
        "only gradients differ",
        "grad.x, grad.w: 2 × the right one",
    )
    got["y"] = 2 * WANT
    found["y"] = found["grad.x"]
    assert hints(got, want, tol, found, asked) == ("y, grad.x, grad.w: 2 × the right one",)


def test_nan_in_part() -> None:
    want = WANT.copy()
    want[1, 2] = 0
    got = want.copy()
    got[1, 2] = np.nan
    assert "y: NaN in fully masked rows" in said(got, want)
    got[0, 3, 4] = np.nan
    assert "y: NaN in 8 of 105, first at [0, 3, 4]" in said(got, want)
    lse = np.array([1.0, -np.inf, 2.0, 3.0])
    assert "y: NaN in fully masked rows" in said(np.array([1.0, np.nan, 2.5, 3.0]), lse)
    assert "y: NaN where the right one is infinite" in said(np.array([1.0, np.nan, 2.5, 3.0]), -lse)
    assert "y: infinite in 1 of 105, first at [0, 0, 0]" in said(_with(np.inf))


def _with(value: float) -> np.ndarray:
    got = WANT.copy()
    got[0, 0, 0] = value
    return got


def test_slices_in_another_order() -> None:
    assert said(WANT[:, [2, 0, 1, 4, 3]]) == ("y: the right one with axis 1 in the order 2, 0, 1, 4, 3",)
    assert said(WANT[..., ::-1]) == ("y: the right one with channels in the order 6, 5, 4, 3, 2, 1, 0: reversed",)
    split = [0, 2, 4, 6, 1, 3, 5]
    assert said(WANT[..., split])[0].endswith("channels in the order 0, 2, 4, 6, 1, 3, 5: even, then odd")
    assert said(np.roll(WANT, 2, axis=1)) == ("y: the right one with axis 1 in the order 3, 4, 0, 1, 2: rolled",)
    assert said(WANT[[0, 0, 1]]) == ("y: the right one with axis 0 in the order 0, 0, 1",)
    assert not any("order" in remark for remark in said(WANT[..., ::-1] + 1e-3 * X))


def test_a_factor_or_a_shift_of_its_own() -> None:
    factors = np.array([1.0, 3.0, 0.5])
    own = said(WANT * factors[:, None, None])
    assert own[0] == "y: each index of axis 0 has a factor of its own: 1, 3, 0.5"
    shifted = said(WANT + X[..., :1])
    assert shifted[0] == "y: each row of the last axis is the right one and a constant of its own"
    got = WANT.copy()
    got[0, 1:] *= 3
    got[2, 0] *= 3
    assert said(got)[0] == "y: 3 × the right one where it is out"


def test_axes_have_names() -> None:
    got = WANT.copy()
    got[1:, 3:] += X[1:, 3:]
    assert said(got, op="rope") == (
        "y: out only from index 1 on of axis 0 (length 3)",
        "y: out only from index 3 on of axis 1 (length 5, position)",
        "y: right up to position 2; out from 3 on",
        "y: first wrong: axis 0 1, position 3, channel 0",
    )


def test_only_beyond_a_position() -> None:
    positions = np.array([0, 40, 255, 256, 257])
    got = WANT.copy()
    got[:, 4] += X[:, 4]
    told = said(got, op="rotary_embedding", positions=positions)
    assert "y: right up to position 256, the integers that bfloat16 holds; out from 257 on" in told
    assert "y: right up to position 6; out from 7 on" in said(got, op="alibi", params={"q_offset": 3})
    got[:, 0] += 1
    assert not any("right up to" in remark for remark in said(got, op="rotary_embedding", positions=positions))


def test_growth_with_the_position() -> None:
    steps = np.array([0, 1, 2, 4, 8])
    got = WANT + 1e-3 * X.std() * steps[:, None] * np.sign(X)
    told = said(got, op="rotary_embedding", positions=steps)
    assert any(remark.startswith("y: the error grows with the position, ") for remark in told)
    told = said(WANT + 1e-3 * X, op="rotary_embedding", positions=steps)
    assert not any("grows" in remark for remark in told)
