"""The sinusoids against printed numbers and against the tables that released models build."""

from __future__ import annotations

import numpy as np
import pytest

from .checks import assert_gradient_is_the_derivative, close, y

POSITIONS = np.array([[-2.5, 0.75, 131071.0]])
CAPE = {
    "positions": np.array([[0.0, 1.0, 2.0], [-1.0, 0.5, 4.0]]),
    "global_shift": np.array([0.25, -3.0]),
    "local_shift": np.array([[0.125, -0.5, 0.0], [0.0, 0.25, 0.5]]),
    "log_scale": np.array([0.5, -0.25]),
}
INTEGERS = {**CAPE, "positions": np.array([[0, 1, 2], [3, 1, 5]])}
CASES = {
    "sin_cos": ("sinusoidal", {"positions": POSITIONS}, {"C": 5, "layout": "sin_cos", "frequency_shift": 1}),
    "cos_sin": ("sinusoidal", {"positions": POSITIONS}, {"C": 5, "layout": "cos_sin", "base": 7.0}),
    "pad_odd": ("sinusoidal", {"positions": POSITIONS}, {"C": 5, "pad_odd": True}),
    "2d": ("sinusoidal_2d", {"positions": POSITIONS.reshape(3, 1) * [1, -0.5]}, {"C": 6}),
    "2d/columns-first": ("sinusoidal_2d", {"positions": np.array([0.5, 3.0])}, {"C": 8, "columns_first": True}),
    "timesteps": ("timestep_embedding", {"timesteps": np.array([0.5, 999.0])}, {"C": 7, "scale": 0.1}),
    "timesteps/integers": ("timestep_embedding", {"timesteps": np.array([3])}, {"C": 4}),
    "cape": ("cape", CAPE, {"C": 5, "base": 50.0}),
    "cape/integers": ("cape", INTEGERS, {"C": 4}),
    "cape/one-sequence": ("cape", {"positions": np.array([0.5, 1.0]), "log_scale": np.array(0.5)}, {"C": 4}),
}


@pytest.mark.parametrize("case", CASES)
def test_gradient_is_the_derivative(case):
    assert_gradient_is_the_derivative(*CASES[case])


# --- layouts and frequencies ------------------------------------------------------------------------------------------


def test_the_layouts_by_hand():
    angles = np.array([3.0, 3 * 10000**-0.5])
    s, c = np.sin(angles), np.cos(angles)
    p = {"positions": np.array(3)}
    close(y("sinusoidal", p, C=4, layout="interleaved"), [s[0], c[0], s[1], c[1]])
    close(y("sinusoidal", p, C=4, layout="sin_cos"), [s[0], s[1], c[0], c[1]])
    close(y("sinusoidal", p, C=4, layout="cos_sin"), [c[0], c[1], s[0], s[1]])
    close(y("sinusoidal", p, C=5, layout="cos_sin", pad_odd=True), [c[0], c[1], s[0], s[1], 0])
    close(y("sinusoidal", p, C=3, layout="sin_cos", base=10000**0.75), [s[0], s[1], c[0]])
    close(y("sinusoidal", p, C=3, layout="cos_sin", base=10000**0.75), [c[0], c[1], s[0]])


def test_only_the_shifted_wavenumbers_reach_one_over_the_base():
    """The paper's text says wavelengths up to 10000 * 2 pi; its formula ends at 60611 for C = 512."""
    p = {"positions": np.array(1e-3)}
    for shift, wavelength in ((0, 60611), (1, 20000 * np.pi)):
        last = float(y("sinusoidal", p, C=512, layout="sin_cos", frequency_shift=shift)[255])
        close(2 * np.pi * 1e-3 / last, wavelength, 1e-5)


def test_halves_are_marians_table():
    torch = pytest.importorskip("torch")
    marian = pytest.importorskip("transformers.models.marian.modeling_marian")
    for C in (6, 7):
        want = marian.MarianSinusoidalPositionalEmbedding(9, C).create_weight()
        close(y("sinusoidal", {"positions": np.arange(9)}, C=C, layout="sin_cos"), want.numpy(), 1e-6)
    assert torch.is_tensor(want)


def test_the_shift_is_tensor2tensors_as_m2m100_and_whisper_copy_it():
    pytest.importorskip("torch")
    m2m = pytest.importorskip("transformers.models.m2m_100.modeling_m2m_100").M2M100SinusoidalPositionalEmbedding
    whisper = pytest.importorskip("transformers.models.whisper.modeling_whisper")
    options = {"layout": "sin_cos", "frequency_shift": 1, "pad_odd": True}
    for C in (6, 9):
        got = y("sinusoidal", {"positions": np.arange(11)}, C=C, **options)
        close(got, m2m.get_embedding(11, C).numpy(), 2e-6)
    close(y("sinusoidal", {"positions": np.arange(11)}, C=8, **options), whisper.sinusoids(11, 8).numpy(), 2e-6)


# --- the map from one position to another -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "params",
    [
        {"C": 6},
        {"C": 6, "layout": "sin_cos", "frequency_shift": 1},
        {"C": 7, "layout": "cos_sin", "pad_odd": True},
        {"C": 2, "base": 3.0},
    ],
)
def test_relative_shift_matrix_carries_every_position_by_the_same_step(params):
    shift, places = 2.75, np.array([-3.0, 0.0, 0.5, 40.0])
    matrix = y("relative_shift_matrix", {"shift": np.array(shift)}, **params)
    before = y("sinusoidal", {"positions": places}, **params)
    close(before @ matrix.T, y("sinusoidal", {"positions": places + shift}, **params))
    close(matrix @ matrix.T, np.eye(params["C"]))
    twice = y("relative_shift_matrix", {"shift": np.array([2 * shift, -shift])}, **params)
    close(matrix @ matrix, twice[0])
    close(matrix.T, twice[1])


# --- two axes ---------------------------------------------------------------------------------------------------------


def test_two_axes_as_detr():
    """DETR counts pixels from one, and shows the row before the column."""
    torch = pytest.importorskip("torch")
    detr = pytest.importorskip("transformers.models.detr.modeling_detr").DetrSinePositionEmbedding
    want = detr.build_sine_position_embedding(torch.Size((1, 1, 3, 4)), "cpu", torch.float64, 6)[0].permute(1, 2, 0)
    grid = np.stack(np.meshgrid(np.arange(1, 4), np.arange(1, 5), indexing="ij"), axis=-1)
    close(y("sinusoidal_2d", {"positions": grid}, C=12), want.numpy(), 1e-12)


def test_two_axes_as_mae():
    """MAE's frequencies are 10000^(-k/(C/4)); its first half shows the column: sines, cosines, then the row's."""
    row, column, omega = 3, 5, 10000.0 ** (-np.arange(2) / 2)
    want = np.concatenate([np.sin(column * omega), np.cos(column * omega), np.sin(row * omega), np.cos(row * omega)])
    got = y("sinusoidal_2d", {"positions": np.array([row, column])}, C=8, layout="sin_cos", columns_first=True)
    close(got, want)


# --- timesteps --------------------------------------------------------------------------------------------------------

DIFFUSERS = {
    "ddpm": ({}, [[0.9646, 0.9804, 0.9892], [0.9615, 0.9787, 0.9882], [0.9582, 0.9769, 0.9872]]),
    "glide": (
        {"frequency_shift": 0, "layout": "cos_sin"},
        [[0.3019, 0.2280, 0.1716], [0.3146, 0.2377, 0.1790], [0.3272, 0.2474, 0.1864]],
    ),
    "grad-tts": (
        {"scale": 1000},
        [[-0.9801, -0.9464, -0.9349], [-0.3952, 0.8887, -0.9709], [0.5299, -0.2853, -0.9927]],
    ),
}


@pytest.mark.parametrize("model", DIFFUSERS)
def test_timesteps_as_diffusers_prints_them(model):
    """Rows 23 to 25, columns 47 to 49 of 64, from the tests of diffusers (tests/models/test_layers_utils.py)."""
    params, want = DIFFUSERS[model]
    got = y("timestep_embedding", {"timesteps": np.arange(23, 26)}, C=64, **params)[:, 47:50]
    close(got, want, 1e-3 if model == "grad-tts" else 6e-5)


def test_an_odd_width_of_timesteps_ends_in_zero():
    t = {"timesteps": np.array(7.5)}
    close(y("timestep_embedding", t, C=9), [*y("timestep_embedding", t, C=8), 0], 0)


# --- CAPE -------------------------------------------------------------------------------------------------------------


def test_cape_without_augmentation_is_the_sinusoid():
    p = {"positions": np.array([[0, 1, 5]])}
    close(y("cape", p, C=6), y("sinusoidal", p, C=6), 0)


def test_cape_shifts_then_stretches():
    got = y("cape", CAPE, C=4)
    place = (0.5 - 3.0 + 0.25) * np.exp(-0.25)  # sequence 1, token 1
    close(got[1, 1], y("sinusoidal", {"positions": np.array(place)}, C=4), 1e-14)
