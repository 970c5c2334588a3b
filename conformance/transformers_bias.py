"""Door 3 in transformers: the biases of BLOOM, MPT, T5, Swin, SAM, wav2vec2-BERT and DeBERTa."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call
from transformers.models.bloom import modeling_bloom
from transformers.models.deberta_v2 import DebertaV2Config, modeling_deberta_v2
from transformers.models.mpt import modeling_mpt
from transformers.models.sam import modeling_sam
from transformers.models.swin import modeling_swin
from transformers.models.t5 import T5Config, modeling_t5
from transformers.models.wav2vec2_bert import modeling_wav2vec2_bert

from conformance.torch_arrays import Function
from conformance.unsupported import require


def alibi_slopes(*, H: int, max_bias: float = 8, dtype: str = "float64") -> Tensor:
    """BLOOM's bias of the key at 1; where another steepness is asked for MPT's, whose first of two keys is at −1."""
    to = getattr(torch, dtype)
    if max_bias == 8:
        return modeling_bloom.build_alibi_tensor(torch.ones(1, 2), H, to)[:, 0, 1]
    return -modeling_mpt.build_mpt_alibi_tensor(H, 2, alibi_bias_max=max_bias)[:, 0, 0].to(to)


def t5_buckets(relative: Tensor, *, N: int = 32, max_distance: int = 128, bidirectional: bool = True) -> Tensor:
    return modeling_t5.T5Attention._relative_position_bucket(relative, bidirectional, N, max_distance)


class T5Bias(nn.Module):
    """What T5Attention calls for its bias, as a module's forward."""

    def __init__(self, weight: Tensor, max_distance: int, bidirectional: bool) -> None:
        super().__init__()
        (N, H), to = weight.shape, weight.dtype
        config = T5Config(
            num_heads=H,
            d_kv=1,
            d_model=H,
            is_decoder=not bidirectional,
            relative_attention_num_buckets=N,
            relative_attention_max_distance=max_distance,
        )
        self.inner = modeling_t5.T5Attention(config, has_relative_attention_bias=True, layer_idx=0).to(to)

    def forward(self, T: int, S: int, q_offset: int) -> Tensor:
        return self.inner.compute_bias(T, S, past_seen_tokens=q_offset)[0]


def t5_bias(
    weight: Tensor, *, T: int, S: int, q_offset: int = 0, max_distance: int = 128, bidirectional: bool = True
) -> Tensor:
    module = T5Bias(weight, max_distance, bidirectional)
    return functional_call(module, {"inner.relative_attention_bias.weight": weight}, (T, S, q_offset))


def swin_bias(weight: Tensor, *, height: int, width: int) -> Tensor:
    module = modeling_swin.SwinRelativePositionBias(weight.shape[1], (height, width))
    return functional_call(module, {"relative_position_bias_table": weight}, ())[0]


def decomposed_2d_bias(q: Tensor, table_h: Tensor, table_w: Tensor, *, height: int, width: int) -> Tensor:
    size, T = (height, width), height * width
    module = modeling_sam.SamVisionAttention.__new__(modeling_sam.SamVisionAttention)
    rows = q.reshape(-1, T, q.shape[-1])
    bias = modeling_sam.SamVisionAttention.get_decomposed_rel_pos(module, rows, table_h, table_w, size, size)
    return bias.reshape(*q.shape[:-1], T)


def shaw_keys(
    q: Tensor, table: Tensor, *, S: int, q_offset: int = 0, left: int | None = None, scale: float | None = None
) -> Tensor:
    """wav2vec2-BERT's, whose query i is at position i: those before the first are zeros here, and cut off again."""
    left = (len(table) - 1) // 2 if left is None else left
    module = SimpleNamespace(
        left_max_position_embeddings=left,
        right_max_position_embeddings=len(table) - 1 - left,
        distance_embedding=lambda rows: F.embedding(rows, table),
        scaling=q.shape[-1] ** -0.5 if scale is None else scale,
    )
    rows = F.pad(q.reshape(-1, *q.shape[-3:]), (0, 0, q_offset, 0))
    keys = q.new_zeros(*rows.shape[:2], S, q.shape[-1])
    _, bias = modeling_wav2vec2_bert._apply_relative_key_position_encoding(module, rows, keys)
    return bias[..., q_offset:, :].reshape(*q.shape[:-1], S)


class Given(nn.Module):
    """A projection whose result is given: the table of every head side by side, (1, 2·span, H·D)."""

    def __init__(self, table: Tensor) -> None:
        super().__init__()
        self.table = table

    def forward(self, rows: Tensor) -> Tensor:
        return self.table.transpose(0, 1).flatten(1).unsqueeze(0)


def deberta_bias(
    q: Tensor,
    k: Tensor,
    key_table: Tensor,
    query_table: Tensor,
    *,
    q_offset: int = 0,
    max_distance: int | None = None,
    mirrored: bool = False,
    scale: float | None = None,
) -> Tensor:
    """Of a square: queries that are not asked for are zeros here, and cut off again."""
    H, T, D = q.shape[-3:]
    S, span = k.shape[-2], key_table.shape[-2] // 2
    require(not mirrored and scale is None, "both terms read the row of i − j, and the scale is 1 / √(3 D)")
    require(0 <= q_offset <= S - T, "queries are among the keys")
    options: dict[str, Any] = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}
    options |= {"position_buckets": -1 if max_distance is None else span}
    options |= {"max_relative_positions": span if max_distance is None else max_distance}
    config = DebertaV2Config(hidden_size=H * D, num_attention_heads=H, **options)
    module = modeling_deberta_v2.DisentangledSelfAttention(config).eval()
    module.pos_key_proj, module.pos_query_proj = Given(key_table), Given(query_table)
    square = F.pad(q, (0, 0, q_offset, S - T - q_offset))
    rows = q.new_zeros(2 * span, H * D)
    bias = module.disentangled_attention_bias(square.reshape(-1, S, D), k.reshape(-1, S, D), None, rows, 3)
    return bias.reshape(*q.shape[:-2], S, S)[..., q_offset : q_offset + T, :]


OPS: dict[str, Function] = {
    "alibi_slopes": alibi_slopes,
    "t5_buckets": t5_buckets,
    "t5_bias": t5_bias,
    "swin_bias": swin_bias,
    "decomposed_2d_bias": decomposed_2d_bias,
    "shaw_keys": shaw_keys,
    "deberta_bias": deberta_bias,
}
