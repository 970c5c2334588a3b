"""T5's relative bias: one learned number for each head and bucket of distances."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Float, Int

from ..embeddings.token import take_rows
from ..errors import require
from ..namespace import Array, array_namespace, device, scatter_add
from ..signatures import checked
from .buckets import log_bucket_starts
from .relative import relative_positions


class T5BiasResiduals(NamedTuple):
    """What the gradient needs: the row that every pair was read from, and the table's shape."""

    buckets: Int[Array, "T S"]
    N: int
    H: int


@checked
def t5_bias_forward(
    weight: Float[Array, "N H"],
    *,
    T: int,
    S: int,
    q_offset: int = 0,
    max_distance: int = 128,
    bidirectional: bool = True,
) -> tuple[Float[Array, "H T S"], T5BiasResiduals]:
    """Look up the bias of every pair by the bucket of its relative position.

        y[h, i, j] = weight[bucket(j - (q_offset + i)), h]

    Near distances have a row of their own, far ones share one, and all beyond share the last: so it reaches any length.
    T5 does not divide its scores by √D (the initialisation does); the bias is never divided.

    bidirectional: keys ahead have rows of their own (encoder); else they all share the row of distance 0 (decoder).
    Source: Raffel et al. 2020 (T5), section 2.1; buckets: the authors' code (`t5_buckets`). One table serves all layers
    in T5, each layer has its own in UMT5, and cross-attention has none. x-transformers multiplies the bias by √D.
    Raises ValueError for a negative T, S below 1, and what `t5_buckets` refuses.
    """
    xp = array_namespace(weight)
    N = weight.shape[0]
    require_rows("weight", N, bidirectional)
    relative = relative_positions(T, S, q_offset=q_offset, xp=xp, device=device(weight))  # (T, S)
    buckets = t5_buckets(relative, N=N, max_distance=max_distance, bidirectional=bidirectional)
    return xp.moveaxis(take_rows(weight, buckets), -1, 0), T5BiasResiduals(buckets, *weight.shape)


@checked
def t5_bias_backward(dy: Float[Array, "H T S"], residuals: T5BiasResiduals) -> Float[Array, "N H"]:
    """Add the gradient of every pair to the row of its bucket.

    dweight[n, h] = sum of dy[h, i, j] over all (i, j) in bucket n
    """
    xp = array_namespace(dy)
    return scatter_add(residuals.buckets, xp.moveaxis(dy, 0, -1), residuals.N)  # y = weight[buckets]


@checked
def t5_buckets(
    relative: Int[Array, "*I"], *, N: int = 32, max_distance: int = 128, bidirectional: bool = True
) -> Int[Array, "*I"]:
    """Return the bucket of every relative position, key minus query.

        bucket = n                                            n < exact
        bucket = min(exact + k, half - 1)                     else,  k = max integer with
                                                              (n/exact)^(half-exact) >= (max_distance/exact)^k
        bidirectional: n = |relative|, half = N/2, and keys ahead (relative > 0) add half
        else:          n = max(-relative, 0), half = N        exact = half // 2

    k is floor(ln(n/exact) / ln(max_distance/exact) · (half - exact)), decided in integers. The last bucket begins well
    before max_distance: at 91 (bidirectional) or 113, not at 128, for N = 32.

    Source: Raffel et al. 2020 (T5), section 2.1, and the authors' code. JAX ports add an epsilon inside the logarithm.
    Raises ValueError for positions that are not integers, an odd N in both directions, too few rows, or max_distance
    not above exact.
    """
    xp = array_namespace(relative)
    require_rows("N", N, bidirectional)
    half = N // 2 if bidirectional else N
    exact = half // 2
    require(max_distance > exact, "max_distance", max_distance, f"an integer > {exact}")
    starts = log_bucket_starts(exact, max_distance, half - exact, range(1, half - exact), strict=False)
    starts = xp.asarray([*range(1, exact + 1), *starts], dtype=relative.dtype, device=device(relative))  # (half - 1,)
    zero = xp.zeros_like(relative)
    n = xp.abs(relative) if bidirectional else xp.maximum(-relative, zero)
    bucket = xp.sum(xp.astype(n[..., None] >= starts, relative.dtype), axis=-1)  # how many buckets have begun before
    return bucket + xp.where(relative > 0, half, zero) if bidirectional else bucket


def require_rows(argument: str, N: int, bidirectional: bool) -> None:
    """Raise ValueError unless so many rows can be dealt out to near and far, in one direction or two."""
    require(N % 2 == 0 or not bidirectional, argument, f"{N} rows", "an even number of rows for both directions")
    require((4 if bidirectional else 2) <= N, argument, f"{N} rows", "4 rows or more for both directions, 2 for one")
