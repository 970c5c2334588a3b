"""Frequencies of door 2 in transformers: the rules of modeling_rope_utils, in float32."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.llama import modeling_llama

from conformance.torch_arrays import Function

Tables = dict[str, Tensor]


def config(D: int, base: float, rule: str, capacity: int = 8192, **parameters: Any) -> LlamaConfig:
    return LlamaConfig(
        head_dim=D,
        max_position_embeddings=capacity,
        rope_parameters={"rope_type": rule, "rope_theta": base, **parameters},
    )


def rule(name: str, D: int, base: float, length: int | None = None, **parameters: Any) -> Tables:
    found, factor = ROPE_INIT_FUNCTIONS[name](config(D, base, name, **parameters), torch.device("cpu"), seq_len=length)
    return {"frequencies": found, "attention_factor": torch.tensor(factor)}


def rope_frequencies(*, D: int, base: float = 10000.0, dtype: str = "") -> Tensor:
    compute = modeling_llama.LlamaRotaryEmbedding.compute_default_rope_parameters
    return compute(config(D, base, "default"))[0]


def linear_frequencies(*, D: int, factor: float, base: float = 10000.0, dtype: str = "") -> Tensor:
    return rule("linear", D, base, factor=factor)["frequencies"]


def dynamic_ntk_frequencies(
    *, D: int, length: int, trained_length: int, factor: float, base: float = 10000.0, dtype: str = ""
) -> Tensor:
    return rule("dynamic", D, base, length, capacity=trained_length, factor=factor)["frequencies"]


def proportional_frequencies(
    *, D: int, proportion: float, factor: float = 1.0, base: float = 10000.0, dtype: str = ""
) -> Tensor:
    return rule("proportional", D, base, factor=factor, partial_rotary_factor=proportion)["frequencies"]


def llama3_frequencies(
    *,
    D: int,
    factor: float = 8.0,
    low_frequency_factor: float = 1.0,
    high_frequency_factor: float = 4.0,
    trained_length: int = 8192,
    base: float = 500000.0,
    dtype: str = "",
) -> Tensor:
    bounds: dict[str, Any] = {"low_freq_factor": low_frequency_factor, "high_freq_factor": high_frequency_factor}
    return rule("llama3", D, base, factor=factor, original_max_position_embeddings=trained_length, **bounds)[
        "frequencies"
    ]


def yarn_frequencies(
    *,
    D: int,
    factor: float,
    trained_length: int,
    base: float = 10000.0,
    fast_rotations: float = 32.0,
    slow_rotations: float = 1.0,
    dtype: str = "",
    **options: Any,
) -> Tables:
    given = {"factor": factor, "beta_fast": fast_rotations, "beta_slow": slow_rotations, **options}
    return rule("yarn", D, base, original_max_position_embeddings=trained_length, **given)


def yarn_attention_factor(*, factor: float, dtype: str = "float64", **scales: Any) -> Tensor:
    """A Python float there."""
    _, attention_factor = ROPE_INIT_FUNCTIONS["yarn"](
        config(64, 10000.0, "yarn", factor=factor, original_max_position_embeddings=4096, **scales),
        torch.device("cpu"),
    )
    return torch.tensor(attention_factor, dtype=getattr(torch, dtype))


def longrope_frequencies(
    short_factors: Tensor,
    long_factors: Tensor,
    *,
    length: int,
    trained_length: int,
    factor: float,
    base: float = 10000.0,
) -> Tables:
    given = {"short_factor": short_factors.tolist(), "long_factor": long_factors.tolist(), "factor": factor}
    D = 2 * len(short_factors)
    return rule("longrope", D, base, length, original_max_position_embeddings=trained_length, **given)


OPS: dict[str, Function] = {
    "rope_frequencies": rope_frequencies,
    "linear_frequencies": linear_frequencies,
    "dynamic_ntk_frequencies": dynamic_ntk_frequencies,
    "llama3_frequencies": llama3_frequencies,
    "yarn_frequencies": yarn_frequencies,
    "yarn_attention_factor": yarn_attention_factor,
    "longrope_frequencies": longrope_frequencies,
    "proportional_frequencies": proportional_frequencies,
}
