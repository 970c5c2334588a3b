"""Token embedding: a row of the table for every id."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Float, Int, Shaped

from ..errors import require_index, require_row
from ..namespace import Array, array_namespace, constant, scatter_add
from ..signatures import checked


class TokenEmbeddingResiduals(NamedTuple):
    """What the gradient needs: the ids, and the shape of the table; never the table itself."""

    ids: Int[Array, "*B T"]
    V: int
    C: int
    scale_by_sqrt_width: bool
    padding_idx: int | None
    scale_grad_by_freq: bool


@checked
def token_embedding_forward(
    ids: Int[Array, "*B T"],
    weight: Float[Array, "V C"],
    *,
    scale_by_sqrt_width: bool = False,
    padding_idx: int | None = None,
    scale_grad_by_freq: bool = False,
) -> tuple[Float[Array, "*B T C"], TokenEmbeddingResiduals]:
    """Look up the row of every token.

        y[b, t, :] = weight[ids[b, t], :]            (times √C with scale_by_sqrt_width)

    A lookup is a product with a one-hot matrix that nobody builds; that is why its gradient is a sum over equal ids.
    `padding_idx` changes the gradient alone: its row is read like any other, but does not learn from this lookup. So
    does `scale_grad_by_freq`: a row learns from the mean of its places instead of their sum (no longer a derivative).

    Source: Vaswani et al. 2017, section 3.4 (with √C: "we multiply those weights by √d_model"). With √C: fairseq,
    Marian, tensor2tensor; without: BERT, GPT-2, Llama. Gemma rounds √C to the dtype of the weights first.
    Raises ValueError for an id outside 0 .. V-1 (NumPy would wrap a negative one, JAX clamps), or such a padding_idx.
    """
    xp = array_namespace(ids, weight)
    V, C = weight.shape
    require_index("ids", ids, V, "weight")
    require_row("padding_idx", padding_idx, weight)
    y = take_rows(weight, ids)  # (*B, T, C)
    if scale_by_sqrt_width:
        y = y * xp.sqrt(constant(C, like=weight))
    return y, TokenEmbeddingResiduals(ids, V, C, scale_by_sqrt_width, padding_idx, scale_grad_by_freq)


@checked
def token_embedding_backward(dy: Float[Array, "*B T C"], residuals: TokenEmbeddingResiduals) -> Float[Array, "V C"]:
    """Add every token's gradient to the row it was read from.

    dweight[v, :] = sum of dy[b, t, :] over all (b, t) with ids[b, t] = v        (times √C; row padding_idx: 0)
    with scale_grad_by_freq divided by the number of places with ids[b, t] = v
    """
    xp = array_namespace(dy)
    ids, V, C, scale_by_sqrt_width, padding_idx, scale_grad_by_freq = residuals
    if scale_by_sqrt_width:  # y = y * sqrt(C)
        dy = dy * xp.sqrt(constant(C, like=dy))
    if padding_idx is not None:
        dy = xp.where((ids == padding_idx)[..., None], 0.0, dy)
    if scale_grad_by_freq:
        places = scatter_add(ids, xp.ones_like(ids), V)  # (V,)
        dy = dy / xp.astype(take_rows(places[:, None], ids), dy.dtype)
    return scatter_add(ids, dy, V)  # y = weight[ids]


def take_rows(table: Shaped[Array, "N C"], ids: Int[Array, "*I"]) -> Shaped[Array, "*I C"]:
    """Return table[ids[i], :] for ids of any shape; the standard's `take` wants a flat index."""
    xp = array_namespace(table, ids)
    return xp.reshape(xp.take(table, xp.reshape(ids, (-1,)), axis=0), (*ids.shape, table.shape[1]))
