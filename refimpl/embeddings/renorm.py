"""max_norm: a table whose rows are cut back to a greatest length, as a function of its own."""

from __future__ import annotations

from jaxtyping import Float, Int

from ..errors import require_index, require_number
from ..namespace import Array, array_namespace, constant, scatter_add
from ..signatures import checked


@checked
def renorm_table(
    ids: Int[Array, "*B T"], weight: Float[Array, "V C"], *, max_norm: float, eps: float = 1e-7
) -> Float[Array, "V C"]:
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
    require_number("max_norm", max_norm, above=0)
    require_number("eps", eps, least=0)
    require_index("ids", ids, weight.shape[0], "weight")
    limit = constant(max_norm, like=weight)
    norm = xp.sqrt(xp.sum(weight * weight, axis=-1, keepdims=True))  # (V, 1)
    excess = xp.maximum(norm, limit) - limit  # exactly 0 for a row that is short enough
    factor = limit / (xp.maximum(norm, limit) + constant(eps, like=weight) * xp.sign(excess))
    looked_up = scatter_add(ids, xp.ones_like(ids), weight.shape[0]) > 0  # (V,)
    return xp.where(looked_up[:, None], weight * factor, weight)
