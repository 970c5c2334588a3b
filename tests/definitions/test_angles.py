"""Angles, their tables and their gradients against torch and against the released vision models."""

from __future__ import annotations

import numpy as np
import pytest

from . import DEFINITIONS
from .checks import assert_agrees, assert_gradient_is_the_derivative, close, tensors

RANDOM = np.random.default_rng(33)


def reals(*shape):
    return RANDOM.normal(size=shape)


FACTOR = np.array(1.25)
CASES = {
    "plain": ("rope_angles", {"positions": reals(2, 5), "frequencies": reals(3)}, {}),
    "factor": ("rope_angles", {"positions": np.arange(5), "frequencies": reals(3), "attention_factor": FACTOR}, {}),
    "heads": ("rope_angles", {"positions": reals(5), "frequencies": reals(2, 3), "attention_factor": FACTOR}, {}),
    "heads/batch": ("rope_angles", {"positions": reals(4, 1, 5), "frequencies": reals(2, 3)}, {}),
    "heads/one": ("rope_angles", {"positions": reals(4, 3, 5), "frequencies": reals(1, 2)}, {}),
    "mixed": ("mixed_angles", {"positions": reals(2, 4, 5), "frequencies": reals(2, 3)}, {}),
    "mixed/heads": ("mixed_angles", {"positions": np.arange(10).reshape(2, 5), "frequencies": reals(2, 4, 3)}, {}),
    "mixed/one-axis": ("mixed_angles", {"positions": reals(1, 5), "frequencies": reals(1, 3)}, {}),
}


@pytest.mark.parametrize("case", CASES)
def test_gradient_is_the_derivative(case):
    assert_gradient_is_the_derivative(*CASES[case])


@pytest.mark.parametrize("case", [case for case in CASES if CASES[case][0] == "rope_angles"])
def test_rope_angles_are_torch_cosines_and_sines(case):
    op, inputs, params = CASES[case]
    torch, t = tensors(inputs)
    f = t["frequencies"]
    angles = t["positions"][..., None] * (f if f.ndim == 1 else f[:, None])
    m = t.get("attention_factor", 1)
    assert_agrees(op, inputs, params, {"cos": m * torch.cos(angles), "sin": m * torch.sin(angles)}, t)


def test_mixed_angles_as_rope_vit():
    """Angle of head h at token t: x_t f[0, h] + y_t f[1, h]; the table is (heads, tokens, pairs)."""
    op, inputs, params = CASES["mixed/heads"]
    torch, t = tensors(inputs)
    x, y = t["positions"].double()
    angles = sum(torch.einsum("t,hf->htf", place, t["frequencies"][axis]) for axis, place in enumerate((x, y)))
    assert_agrees(op, inputs, params, {"cos": angles.cos(), "sin": angles.sin()}, t)


# --- tables with several axes -----------------------------------------------------------------------------------------

GRID = np.array([[0, 1, 1, 7, 3], [4, 0, 2, 9, 5], [3, 5, 11, 0, 2]])
SECTIONS = {"contiguous": [3, 2, 1], "uneven": [1, 0, 5], "three-even": [2, 2, 2]}


@pytest.mark.parametrize("sections", SECTIONS.values(), ids=SECTIONS)
@pytest.mark.parametrize("cycled", [False, True])
def test_mrope_as_qwen(cycled, sections):
    torch = pytest.importorskip("torch")
    name = "qwen3_vl" if cycled else "qwen2_vl"
    module = pytest.importorskip(f"transformers.models.{name}.modeling_{name}")
    kind = module.Qwen3VLTextRotaryEmbedding if cycled else module.Qwen2VLRotaryEmbedding
    frequencies = torch.tensor(1e4 ** (-np.arange(6) / 6))
    angles = torch.tensor(GRID)[:, None, :, None] * frequencies
    holder = type("Sections", (), {"mrope_section": sections})()
    want = kind.recomposition_frequencies(holder, angles)[0, :, :6]
    got = DEFINITIONS["mrope_cos_sin"]({"positions": GRID}, {"sections": sections, "cycled": cycled})
    close(got["cos"], want.cos().numpy())
    close(got["sin"], want.sin().numpy())


def test_mrope_cycles_as_qwen3_vl_lists_its_pairs():
    """Sections 24, 20, 20: pairs 0 to 59 take turns, pairs 60 to 63 are the time's."""
    read = np.array([[1], [0], [0]])
    got = DEFINITIONS["mrope_cos_sin"]({"positions": read}, {"sections": [24, 20, 20], "cycled": True, "base": 1e4})
    assert [i for i in range(64) if got["sin"][0, i] != 0] == [*range(0, 60, 3), 60, 61, 62, 63]


def test_equal_positions_on_every_axis_are_text():
    text = np.array([GRID[0]] * 3)
    for cycled in (False, True):
        got = DEFINITIONS["mrope_cos_sin"]({"positions": text}, {"sections": [1, 3, 2], "cycled": cycled})
        plain = DEFINITIONS["rope_cos_sin"]({"positions": GRID[0]}, {"D": 12})
        close(got["cos"], plain["cos"], 0)


def test_axial_tables_by_hand():
    """D = 8, base 100: both axes turn at 1 and 1/10; split, the first at 1 and 1/10, the second at 100^(-1/4) times."""
    p = {"positions": np.array([2.0, 3.0])}
    got = DEFINITIONS["axial_cos_sin"](p, {"D": 8, "base": 100})
    close(got["sin"], np.sin([2, 0.2, 3, 0.3]))
    got = DEFINITIONS["axial_cos_sin"](p, {"D": 8, "base": 100, "split_frequencies": True})
    close(got["cos"], np.cos([2, 0.2, 3 * 100**-0.25, 3 * 100**-0.75]))
