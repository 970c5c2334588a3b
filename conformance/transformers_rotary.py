"""Door 2 in transformers: tables and rotations of its models."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor
from transformers.models.deepseek_v3 import modeling_deepseek_v3
from transformers.models.gemma4 import modeling_gemma4
from transformers.models.glm import modeling_glm
from transformers.models.gpt_neox import modeling_gpt_neox
from transformers.models.gptj import modeling_gptj
from transformers.models.llama import modeling_llama
from transformers.models.ministral3 import modeling_ministral3
from transformers.models.pixtral import modeling_pixtral
from transformers.models.qwen2_vl import modeling_qwen2_vl
from transformers.models.qwen3_vl import modeling_qwen3_vl

from conformance.torch_arrays import Function
from conformance.transformers_frequencies import Tables, config
from conformance.unsupported import require

LONGEST = 2**16  # of the tables that GPT-J fills


# tables


def first_half(cos: Tensor, sin: Tensor) -> Tables:
    """Their tables have every entry twice."""
    half = cos.shape[-1] // 2
    return {"cos": cos[..., :half], "sin": sin[..., :half]}


def rope_cos_sin(positions: Tensor, *, D: int, base: float = 10000.0, dtype: str = "float64") -> Tables:
    module = modeling_llama.LlamaRotaryEmbedding(config(D, base, "default"))
    return first_half(*module(torch.zeros(1, dtype=getattr(torch, dtype)), positions))


def mrope_cos_sin(
    positions: Tensor, *, sections: list[int], cycled: bool = False, base: float = 10000.0, dtype: str = "float64"
) -> Tables:
    parameters = {"rope_type": "default", "rope_theta": base, "mrope_section": sections}
    given = SimpleNamespace(rope_parameters=parameters, head_dim=2 * sum(sections), max_position_embeddings=64)
    family = modeling_qwen3_vl.Qwen3VLTextRotaryEmbedding if cycled else modeling_qwen2_vl.Qwen2VLRotaryEmbedding
    batch = positions if positions.ndim == 3 else positions.unsqueeze(1)
    cos, sin = family(given)(torch.zeros(1, dtype=getattr(torch, dtype)), batch)
    return first_half(cos.reshape(*positions.shape[1:], -1), sin.reshape(*positions.shape[1:], -1))


def vision(D: int, base: float) -> Any:
    """The fields of a vision model's configuration that its rotary module reads."""
    parameters = {"rope_type": "axial", "rope_theta": base}
    return SimpleNamespace(
        rope_parameters=parameters, head_dim=D, embed_dim=D, hidden_size=D, num_attention_heads=1, image_size=64
    )


def axial_tables(module: Any, positions: Tensor, D: int, base: float, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    require(len(positions) == 2 and positions.ndim == 2, "two axes and one list of patches")
    return module(vision(D, base))(torch.zeros(1, dtype=dtype), positions.T)


def axial_cos_sin(
    positions: Tensor, *, D: int, split_frequencies: bool = False, base: float = 10000.0, dtype: str = "float64"
) -> Tables:
    pixtral, qwen = modeling_pixtral.PixtralVisionRotaryEmbedding, modeling_qwen2_vl.Qwen2VLVisionRotaryEmbedding
    to = getattr(torch, dtype)
    return first_half(*axial_tables(pixtral if split_frequencies else qwen, positions, D, base, to))


# rotations


def rope(
    x: Tensor, cos: Tensor, sin: Tensor, *, interleaved: bool = True, interleaved_output: bool | None = None
) -> Tensor:
    """Llama turns halves, GPT-J pairs, DeepSeek-V3 reads pairs and writes halves."""
    if interleaved and interleaved_output in (None, True):
        heads_last = x.reshape(-1, *x.shape[-3:]).transpose(1, 2)  # (B, T, H, D)
        tables = [t.reshape(-1, *t.shape[-2:]) for t in (sin, cos)]
        return modeling_gptj.apply_rotary_pos_emb(heads_last, *tables).transpose(1, 2).reshape(x.shape)
    require(not interleaved_output, "no model reads halves and writes pairs")
    family: Any = modeling_deepseek_v3.apply_rotary_pos_emb_interleave if interleaved else llama
    y, _ = family(x, x, *(torch.cat((t, t), dim=-1) for t in (cos, sin)), unsqueeze_dim=0)
    return y.reshape(x.shape)


llama: Any = modeling_llama.apply_rotary_pos_emb


def partial_rope(x: Tensor, cos: Tensor, sin: Tensor, *, interleaved: bool = True) -> Tensor:
    """GPT-NeoX turns halves of the first channels, GLM pairs of them."""
    family: Any = modeling_glm if interleaved else modeling_gpt_neox
    tables = (torch.cat((t, t), dim=-1).reshape(-1, 1, t.shape[-2], 2 * t.shape[-1]) for t in (cos, sin))
    heads = x.reshape(-1, *x.shape[-3:])
    y, _ = family.apply_rotary_pos_emb(heads, heads, *(t.squeeze(1) for t in tables))
    return y.reshape(x.shape)


def rotary_embedding(
    x: Tensor,
    positions: Tensor,
    frequencies: Tensor | None = None,
    attention_factor: Tensor | None = None,
    *,
    base: float = 10000.0,
    interleaved: bool = True,
) -> Tensor:
    require(frequencies is None, "frequencies come from a configuration")
    if not interleaved:
        module = modeling_llama.LlamaRotaryEmbedding(config(x.shape[-1], base, "default"))
        y, _ = llama(x, x, *module(x, positions), unsqueeze_dim=0)
        return y.reshape(x.shape)
    require(base == 10000.0, "GPT-J has the base 10,000")
    require(0 <= int(positions.min()) <= int(positions.max()) < LONGEST, "GPT-J fills a table up to the last position")
    table = modeling_gptj.create_sinusoidal_positions(int(positions.max()) + 1, x.shape[-1])
    sin, cos = table.to(x.dtype)[positions].chunk(2, dim=-1)
    return rope(x, cos, sin)


def axial_rope(x: Tensor, positions: Tensor, *, layout: str = "interleaved", base: float = 10000.0) -> Tensor:
    """Pixtral deals frequencies out, Qwen2-VL has halves, Gemma 4 halves for each axis."""
    D = x.shape[-1]
    if layout == "even_odd":
        tables = axial_tables(modeling_pixtral.PixtralVisionRotaryEmbedding, positions, D, base, x.dtype)
        y, _ = modeling_pixtral.apply_rotary_pos_emb(x, x, *tables, unsqueeze_dim=0)
        return y.reshape(x.shape)
    require(x.ndim == 3 and layout != "interleaved", "a list of patches; Llama 4 makes its pairs of coordinates itself")
    heads_last = x.transpose(0, 1)  # (T, H, D)
    if layout == "halves":
        tables = axial_tables(modeling_qwen2_vl.Qwen2VLVisionRotaryEmbedding, positions, D, base, x.dtype)
        y, _ = modeling_qwen2_vl.apply_rotary_pos_emb_vision(heads_last, heads_last, *tables)
        return y.transpose(0, 1)
    require(len(positions) == 2, "two axes")
    grid = positions.T.unsqueeze(0)
    cos, sin = modeling_gemma4.Gemma4VisionRotaryEmbedding(vision(D, base))(x, grid)
    return modeling_gemma4.apply_multidimensional_rope(heads_last.unsqueeze(0), cos, sin, grid)[0].transpose(0, 1)


def query_temperature(x: Tensor, positions: Tensor, *, scale: float = 0.1, step: int = 8192, offset: int = 1) -> Tensor:
    """As in Ministral 3's attention."""
    require(offset == 0 and positions.ndim == 1, "Ministral 3 counts from 0; Llama 4 has no function for it")
    factor = modeling_ministral3.get_llama_4_attn_scale(positions.unsqueeze(0), scale, step)
    return (x * factor.to(x.dtype)).reshape(x.shape)


OPS: dict[str, Function] = {
    "rope_cos_sin": rope_cos_sin,
    "mrope_cos_sin": mrope_cos_sin,
    "axial_cos_sin": axial_cos_sin,
    "rope": rope,
    "partial_rope": partial_rope,
    "rotary_embedding": rotary_embedding,
    "axial_rope": axial_rope,
    "query_temperature": query_temperature,
}
