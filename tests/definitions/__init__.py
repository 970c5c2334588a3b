"""The independent definition of every op, and its gradient, in scalar high-precision arithmetic.

definition(inputs, params) -> outputs by name;  gradient(inputs, params, cotangents) -> gradients by input name.
"""

from __future__ import annotations

from collections.abc import Callable

from . import attention, bias, embeddings, multi_head, rotary
from .scalars import Arrays

DEFINITIONS: dict[str, Callable[..., Arrays]] = {
    "linear": multi_head.linear,
    "token_embedding": embeddings.token_embedding,
    "learned_position": embeddings.learned_position,
    "sinusoidal": embeddings.sinusoidal,
    "dropout": embeddings.dropout,
    "transformer_embedding": embeddings.transformer_embedding,
    "rope_cos_sin": rotary.rope_cos_sin,
    "rope": rotary.rope,
    "rotary_embedding": rotary.rotary_embedding,
    "alibi_slopes": bias.alibi_slopes,
    "alibi": bias.alibi,
    "softmax": attention.softmax,
    "attention": attention.attention,
    "multi_head_attention": multi_head.multi_head_attention,
}

GRADIENTS: dict[str, Callable[..., Arrays]] = {
    "linear": multi_head.linear_gradient,
    "token_embedding": embeddings.token_embedding_gradient,
    "learned_position": embeddings.learned_position_gradient,
    "sinusoidal": embeddings.sinusoidal_gradient,
    "dropout": embeddings.dropout_gradient,
    "transformer_embedding": embeddings.transformer_embedding_gradient,
    "rope": rotary.rope_gradient,
    "rotary_embedding": rotary.rotary_embedding_gradient,
    "alibi": bias.alibi_gradient,
    "softmax": attention.softmax_gradient,
    "attention": attention.attention_gradient,
    "multi_head_attention": multi_head.multi_head_attention_gradient,
}
