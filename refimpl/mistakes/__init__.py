"""Known mistakes, runnable: what comes out of an op that is got wrong in a way in which others have got it wrong."""

from __future__ import annotations

from ..errors import require_one_of
from ..ops import OPS, Op
from .attention import ATTENTION
from .attention_gradient import ATTENTION_GRADIENT
from .attention_softmax import ATTENTION_SOFTMAX
from .bias import ALIBI, ALIBI_SLOPES
from .embeddings import LEARNED_POSITION, TOKEN_EMBEDDING
from .linear import LINEAR
from .mistake import KINDS as KINDS
from .mistake import Mistake as Mistake
from .multi_head import MULTI_HEAD_ATTENTION
from .rotary import ROPE, ROPE_COS_SIN
from .rotary_embedding import ROTARY_EMBEDDING
from .sinusoidal import SINUSOIDAL
from .softmax import SOFTMAX
from .transformer import DROPOUT, TRANSFORMER_EMBEDDING

MISTAKES: dict[str, Mistake] = {
    **TOKEN_EMBEDDING,
    **LEARNED_POSITION,
    **SINUSOIDAL,
    **DROPOUT,
    **TRANSFORMER_EMBEDDING,
    **ROPE_COS_SIN,
    **ROPE,
    **ROTARY_EMBEDDING,
    **ALIBI_SLOPES,
    **ALIBI,
    **LINEAR,
    **SOFTMAX,
    **ATTENTION,
    **ATTENTION_SOFTMAX,
    **ATTENTION_GRADIENT,
    **MULTI_HEAD_ATTENTION,
}


def mutant(id: str) -> Op:
    """Return the op as that mistake makes it: run(mutant("rope.layout_swapped"), params, inputs, want)."""
    require_one_of("id", id, list(MISTAKES))
    mistake = MISTAKES[id]
    op = OPS[mistake.op]
    return op._replace(forward=mistake.forward or op.forward, backward=mistake.backward or op.backward)
