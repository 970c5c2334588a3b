"""Known mistakes, runnable: what comes out of an op that is got wrong in a way in which others have got it wrong."""

from __future__ import annotations

from ..errors import require, require_one_of
from ..ops import OPS, Op
from .attention import ATTENTION
from .attention_blocks import ATTENTION_DECODE, BLOCKED_ATTENTION, MERGE_BLOCKS
from .attention_gradient import ATTENTION_GRADIENT
from .attention_openings import ATTENTION_OPENINGS, MULTI_HEAD_OPENINGS
from .attention_sink import ATTENTION_SINK
from .attention_softmax import ATTENTION_SOFTMAX
from .bias import ALIBI, ALIBI_SLOPES
from .bias_content import DEBERTA_BIAS, SHAW_KEYS, SHAW_VALUES, TRANSFORMER_XL_BIAS
from .bias_distance import FIRE, KERPLE_LOG, KERPLE_POWER, SANDWICH, T5_BIAS, T5_BUCKETS
from .bias_gates import COPE, FOX
from .bias_grid import DECOMPOSED_2D_BIAS, SWIN_BIAS, SWIN_V2_BIAS
from .embedding_layers import EMBEDDING_LAYERS
from .embedding_tables import EMBEDDING_TABLES
from .embedding_waves import EMBEDDING_WAVES
from .embeddings import IN_FLOAT16 as IN_FLOAT16
from .embeddings import LEARNED_POSITION, TOKEN_EMBEDDING
from .latent import MLA_ATTENTION
from .linear import LINEAR
from .masks import MASKS
from .mistake import KINDS as KINDS
from .mistake import Mistake as Mistake
from .mistake import over
from .multi_head import MULTI_HEAD_ATTENTION
from .qk_norms import L2_QK_NORM, RMS_QK_NORM
from .rotary import ROPE, ROPE_COS_SIN
from .rotary_embedding import ROTARY_EMBEDDING
from .rotary_frequencies import (
    DYNAMIC_NTK_FREQUENCIES,
    FREQUENCIES,
    LINEAR_FREQUENCIES,
    NTK_FREQUENCIES,
    PROPORTIONAL_FREQUENCIES,
)
from .rotary_scales import PERMUTE_PAIRS, QUERY_TEMPERATURE, XPOS
from .rotary_scaling import (
    LLAMA3_FREQUENCIES,
    LONGROPE_FREQUENCIES,
    NTK_BY_PARTS_FREQUENCIES,
    YARN_ATTENTION_FACTOR,
    YARN_FREQUENCIES,
)
from .rotary_tables import AXIAL_COS_SIN, MIXED_ANGLES, MROPE_COS_SIN, ROPE_ANGLES
from .rotary_turns import AXIAL_ROPE, MLA_ROPE, PARTIAL_ROPE
from .sinks import SOFTCAP, SOFTMAX_SINK
from .sinusoidal import SINUSOIDAL
from .softmax import SOFTMAX
from .transformer import DROPOUT, TRANSFORMER_EMBEDDING

MISTAKES: dict[str, Mistake] = {
    **TOKEN_EMBEDDING,
    **LEARNED_POSITION,
    **SINUSOIDAL,
    **DROPOUT,
    **TRANSFORMER_EMBEDDING,
    **EMBEDDING_TABLES,
    **EMBEDDING_WAVES,
    **EMBEDDING_LAYERS,
    **ROPE_COS_SIN,
    **ROPE,
    **ROTARY_EMBEDDING,
    **FREQUENCIES,
    **LINEAR_FREQUENCIES,
    **NTK_FREQUENCIES,
    **DYNAMIC_NTK_FREQUENCIES,
    **NTK_BY_PARTS_FREQUENCIES,
    **LLAMA3_FREQUENCIES,
    **YARN_FREQUENCIES,
    **YARN_ATTENTION_FACTOR,
    **LONGROPE_FREQUENCIES,
    **PROPORTIONAL_FREQUENCIES,
    **ROPE_ANGLES,
    **MROPE_COS_SIN,
    **AXIAL_COS_SIN,
    **MIXED_ANGLES,
    **PARTIAL_ROPE,
    **AXIAL_ROPE,
    **XPOS,
    **MLA_ROPE,
    **PERMUTE_PAIRS,
    **QUERY_TEMPERATURE,
    **ALIBI_SLOPES,
    **ALIBI,
    **T5_BUCKETS,
    **T5_BIAS,
    **KERPLE_LOG,
    **KERPLE_POWER,
    **FIRE,
    **SANDWICH,
    **SWIN_BIAS,
    **SWIN_V2_BIAS,
    **DECOMPOSED_2D_BIAS,
    **SHAW_KEYS,
    **SHAW_VALUES,
    **TRANSFORMER_XL_BIAS,
    **DEBERTA_BIAS,
    **COPE,
    **FOX,
    **MASKS,
    **LINEAR,
    **SOFTMAX,
    **SOFTMAX_SINK,
    **SOFTCAP,
    **ATTENTION,
    **ATTENTION_SOFTMAX,
    **ATTENTION_GRADIENT,
    **ATTENTION_OPENINGS,
    **ATTENTION_SINK,
    **MULTI_HEAD_ATTENTION,
    **MULTI_HEAD_OPENINGS,
    **RMS_QK_NORM,
    **L2_QK_NORM,
    **ATTENTION_DECODE,
    **BLOCKED_ATTENTION,
    **MERGE_BLOCKS,
    **MLA_ATTENTION,
}


def mutant(id: str) -> Op:
    """Return the op as that mistake makes it: run(mutant("rope.layout_swapped"), params, inputs, want)."""
    require_one_of("id", id, list(MISTAKES))
    mistake = MISTAKES[id]
    op = OPS[mistake.op]
    return op._replace(forward=mistake.forward or op.forward, backward=mistake.backward or op.backward)


def together(id: str, other: str) -> Op:
    """Return the op with two mistakes at once; ValueError where they cannot be put together."""
    one, two = MISTAKES[id], MISTAKES[other]
    require(one.op == two.op, "other", f"{other}, of {two.op}", f"a mistake of {one.op}")
    op = OPS[one.op]
    forward, backward = over(one.forward, two.forward), over(one.backward, two.backward)
    return op._replace(forward=forward or op.forward, backward=backward or op.backward)
