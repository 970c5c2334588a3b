"""rotary-embedding-torch: its RotaryEmbedding module and apply_rotary_emb.

    refimpl check --entry conformance.rotary_embedding_torch:run

It turns pairs of the first channels. Every gradient is torch.autograd's.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import rotary_embedding_torch as ret
from torch import Tensor
from torch.func import functional_call

from conformance.torch_arrays import Function, answer
from conformance.unsupported import require

__version__ = importlib.metadata.version("rotary-embedding-torch")


def run(
    op: str, params: Mapping[str, Any], inputs: Mapping[str, np.ndarray], want: Sequence[str]
) -> dict[str, np.ndarray]:
    return answer(OPS, op, params, inputs, want)


def rope_frequencies(*, D: int, base: float = 10000.0, dtype: str = "") -> Tensor:
    return ret.RotaryEmbedding(D, theta=base).freqs


def ntk_frequencies(*, D: int, factor: float, base: float = 10000.0, dtype: str = "") -> Tensor:
    return ret.RotaryEmbedding(D, theta=base, theta_rescale_factor=factor).freqs


def rotary_embedding(
    x: Tensor,
    positions: Tensor,
    frequencies: Tensor | None = None,
    attention_factor: Tensor | None = None,
    *,
    base: float = 10000.0,
    interleaved: bool = True,
) -> Tensor:
    """A run of positions by rotate_queries_or_keys, others by forward; learned frequencies are its parameter."""
    D = x.shape[-1]
    require(interleaved and D > 2, "pairs; a base rescaled with the exponent D / (D - 2)")
    if frequencies is None and positions.ndim == 1 and bool((positions.diff() == 1).all()):
        return ret.RotaryEmbedding(D, theta=base).rotate_queries_or_keys(x, offset=int(positions[0]))
    if frequencies is None:
        angles = ret.RotaryEmbedding(D, theta=base)(positions)
    else:
        module = ret.RotaryEmbedding(D, learned_freq=True)
        angles = functional_call(module, {"freqs": frequencies}, (positions,))
    return ret.apply_rotary_emb(angles, x, scale=1.0 if attention_factor is None else attention_factor)


def xpos(
    x: Tensor,
    positions: Tensor,
    *,
    centre: int,
    keys: bool = False,
    scale_base: float = 512.0,
    gamma: float = 0.4,
    base: float = 10000.0,
    interleaved: bool = True,
) -> Tensor:
    T, module = len(positions), ret.RotaryEmbedding(x.shape[-1], theta=base, use_xpos=True, xpos_scale_base=scale_base)
    require(interleaved and gamma == 0.4, "pairs, gamma 0.4")
    require(positions.tolist() == list(range(T)) and centre == T // 2, "from 0; the centre is half the length")
    return module.rotate_queries_and_keys(x, x)[keys]


def axial_rope(x: Tensor, positions: Tensor, *, layout: str = "interleaved", base: float = 10000.0) -> Tensor:
    """The patches at `positions` of the grid that holds them all."""
    require(layout == "interleaved" and not positions.is_floating_point(), "pairs, grids")
    A = len(positions)
    module = ret.RotaryEmbedding(x.shape[-1] // A, theta=base)
    grid = module.get_axial_freqs(*(int(axis.max()) + 1 for axis in positions))
    return ret.apply_rotary_emb(grid[tuple(positions)], x)


OPS: dict[str, Function] = {
    "rope_frequencies": rope_frequencies,
    "ntk_frequencies": ntk_frequencies,
    "rotary_embedding": rotary_embedding,
    "axial_rope": axial_rope,
    "xpos": xpos,
}
