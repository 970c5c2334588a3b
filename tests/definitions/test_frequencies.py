"""The rules of context extension against the released code and against numbers in print."""

from __future__ import annotations

import numpy as np
import pytest

from . import DEFINITIONS
from .checks import close, y

STRETCHED = {"factor": 4.0, "base": 10000.0}
LONGROPE = {"short_factors": np.linspace(1, 2, 8), "long_factors": np.linspace(3, 60, 8)}


def released(kind, D, length=None, positions=64, **parameters):
    """Frequencies and factor of the released rule, in float32."""
    pytest.importorskip("torch")
    rules = pytest.importorskip("transformers.modeling_rope_utils").ROPE_INIT_FUNCTIONS
    LlamaConfig = pytest.importorskip("transformers").LlamaConfig
    parameters = {"rope_type": kind, "rope_theta": 10000.0, **parameters}
    sizes = {"head_dim": D, "hidden_size": D, "num_attention_heads": 1, "max_position_embeddings": positions}
    config = LlamaConfig(**sizes, rope_parameters=parameters)
    frequencies, factor = rules[kind](config, device="cpu", seq_len=length)
    return frequencies.numpy(), factor


def test_linear_as_released():
    close(y("linear_frequencies", {}, D=16, **STRETCHED), released("linear", 16, factor=4.0)[0], 1e-6)
    close(y("linear_frequencies", {}, D=4, factor=8, base=100), [1 / 8, 1 / 80])


def test_ntk_keeps_the_first_pair_and_slows_the_last_by_the_factor():
    plain, slowed = y("rope_frequencies", {}, D=12), y("ntk_frequencies", {}, D=12, factor=8)
    close(slowed[0], 1)
    close(slowed[-1], plain[-1] / 8, 1e-15)
    close(slowed, plain * 8.0 ** (-np.arange(6) / 5))


@pytest.mark.parametrize("length", [16, 64, 65, 200])
def test_dynamic_ntk_as_released(length):
    got = y("dynamic_ntk_frequencies", {}, D=16, length=length, trained_length=64, **STRETCHED)
    close(got, released("dynamic", 16, length, factor=4.0)[0], 1e-6)


def test_dynamic_ntk_is_ntk_with_the_growth_of_the_length():
    """A factor of 1 leaves L / trained."""
    got = y("dynamic_ntk_frequencies", {}, D=8, length=96, trained_length=32, factor=1)
    close(got, y("ntk_frequencies", {}, D=8, factor=3), 1e-15)


def test_ntk_by_parts_keeps_what_turns_often_and_interpolates_what_turns_less_than_once():
    got = y("ntk_by_parts_frequencies", {}, D=128, factor=16, trained_length=2048)
    plain = y("rope_frequencies", {}, D=128)
    turns = 2048 * np.asarray(plain, dtype=float) / (2 * np.pi)
    ratio = np.asarray(got / plain, dtype=float)
    close(ratio[turns > 32], np.ones((turns > 32).sum()))
    close(ratio[turns < 1], np.full((turns < 1).sum(), 1 / 16))
    between = (turns > 1) & (turns < 32)
    close(ratio[between], 1 / 16 + 15 / 16 * (turns[between] - 1) / 31)
    assert 0 < between.sum() < 64


@pytest.mark.parametrize("D", [64, 128])
def test_llama3_as_released(D):
    want = released(
        "llama3", D, rope_theta=500000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
        original_max_position_embeddings=8192,
    )  # fmt: skip
    got = y("llama3_frequencies", {}, D=D)
    close(got, want[0], 1e-6)
    assert len({round(float(g * 500000 ** (2 * i / D)), 3) for i, g in enumerate(got)}) > 3  # kept, divided, mixed


YARN = {
    "plain": ({}, {}),
    "untruncated": ({"truncate": False}, {"truncate": False}),
    "turns": ({"fast_rotations": 8.0, "slow_rotations": 2.0}, {"beta_fast": 8, "beta_slow": 2}),
    "deepseek": ({"mscale": 1.0, "mscale_all_dim": 0.5}, {"mscale": 1.0, "mscale_all_dim": 0.5}),
    "shrunk": ({"factor": 0.5}, {"factor": 0.5}),
}


@pytest.mark.parametrize("D", [16, 64])
@pytest.mark.parametrize("case", YARN)
def test_yarn_as_released(case, D):
    mine, theirs = YARN[case]
    want = released("yarn", D, **{"factor": 32.0, "original_max_position_embeddings": 4096, **theirs})
    got = DEFINITIONS["yarn_frequencies"]({}, {"D": D, "factor": 32.0, "trained_length": 4096, **mine})
    close(got["frequencies"], want[0], 1e-6)
    close(got["attention_factor"], want[1], 1e-15)


def test_attention_factors_in_print():
    """YaRN, eq. (22): 0.1 ln 32 + 1; DeepSeek-V3 at factor 40: (0.1 ln 40 + 1)^2 = 1.874, or 1 as a quotient."""
    close(y("yarn_attention_factor", {}, factor=32), 1.3466, 1e-4)
    close(y("yarn_attention_factor", {}, factor=40) ** 2, 1.874, 1e-3)
    close(y("yarn_attention_factor", {}, factor=40, mscale_all_dim=1.0), 1)
    close(y("yarn_attention_factor", {}, factor=0.5), 1)


@pytest.mark.parametrize("length", [1000, 4096, 4097])
def test_longrope_as_released(length):
    factors = {name[:-1]: array.tolist() for name, array in LONGROPE.items()}
    want = released("longrope", 16, length, 131072, original_max_position_embeddings=4096, factor=32.0, **factors)
    params = {"length": length, "trained_length": 4096, "factor": 32}
    got = DEFINITIONS["longrope_frequencies"](LONGROPE, params)
    close(got["frequencies"], want[0], 1e-6)
    close(got["attention_factor"], want[1], 1e-15)
    close(got["attention_factor"], 1.1902, 1e-4)


def test_proportional_as_released():
    want = released("proportional", 16, rope_theta=1e6, partial_rotary_factor=0.25, factor=2.0)[0]
    got = y("proportional_frequencies", {}, D=16, proportion=0.25, factor=2, base=1e6)
    close(got, want, 1e-6)
    close(2 * got, [1, 0.1778, 0, 0, 0, 0, 0, 0], 3e-5)
