"""max_norm: a table whose rows are cut back to a greatest length, as a function of its own."""

from __future__ import annotations

from jaxtyping import Int, Shaped

from ..errors import require, require_index
from ..namespace import Array, array_namespace, constant, scatter_add


def renorm_table(
    ids: Int[Array, "*B T"], weight: Shaped[Array, "V C"], *, max_norm: float, eps: float = 1e-7
) -> Shaped[Array, "V C"]:
    """Return the table with every row that is looked up cut back to length max_norm, if it is longer.

        y[v, :] = weight[v, :] max_norm / (norm + eps)        where v is among the ids and norm > max_norm
        y[v, :] = weight[v, :]                                elsewhere,    norm = sqrt(sum of weight[v, :]^2)

    PyTorch's embedding does this to the table in place before it reads it, in evaluation as in training, and its
    gradient takes the new rows for constants; a pure function returns the new table, to be kept by the caller.
    With eps a row comes out shorter than max_norm by eps/norm: one of norm 2 has length 0.99999995, not 1.

    Source: PyTorch nn.Embedding(max_norm), its eps 1e-7; norm_type is 2 here.
    Raises ValueError for an id outside 0 .. V-1, max_norm <= 0 or eps < 0.
    """
    xp = array_namespace(ids, weight)
    require(max_norm > 0, "max_norm", max_norm, "a number > 0")
    require(eps >= 0, "eps", eps, "a number >= 0")
    require_index("ids", ids, weight.shape[0], "weight")
    limit = constant(max_norm, like=weight)
    norm = xp.sqrt(xp.sum(weight * weight, axis=-1, keepdims=True))  # (V, 1)
    excess = xp.maximum(norm, limit) - limit  # exactly 0 for a row that is short enough
    factor = limit / (xp.maximum(norm, limit) + constant(eps, like=weight) * xp.sign(excess))
    looked_up = scatter_add(ids, xp.ones_like(ids), weight.shape[0]) > 0  # (V,)
    return xp.where(looked_up[:, None], weight * factor, weight)
