"""The matrix that resizes a line of n points to m by cubic interpolation: integers say which points, reals how much."""

from __future__ import annotations

from jaxtyping import Bool, Float

from ..namespace import Array, array_namespace, device


def resize_matrix(n: int, m: int, antialias: bool, *, like: Array) -> Float[Array, "m n"]:
    """Return R with y = R x, in the dtype and device of `like`; each row sums to 1."""
    return antialiased_weights(n, m, like=like) if antialias else clamped_weights(n, m, like=like)


def clamped_weights(n: int, m: int, *, like: Array) -> Float[Array, "m n"]:
    """Return the weights of Keys' kernel with a = -3/4 at the four points of n that are nearest.

        R[i, clamp(t, 0, n-1)] += K(x - t),        x = (i + 1/2) n/m - 1/2

    Points are centres of cells (align_corners=False); a point outside the line reads its end.
    """
    xp, half = array_namespace(like), _half(like)
    centre = (2 * xp.arange(m, device=device(like))[:, None] + 1) * n  # (x + 1/2) · 2m, (m, 1)
    t = (centre - m) // (2 * m) + xp.arange(-1, 3, device=device(like))  # (m, 4)
    x = xp.astype(centre, like.dtype) / (2 * m) - half  # (m, 1)
    near = xp.abs(centre - m - 2 * m * t) <= 2 * m
    weights = keys_kernel(x - xp.astype(t, like.dtype), near, -3)
    end = xp.asarray(n - 1, device=device(like))
    places = xp.minimum(xp.maximum(t, end * 0), end)[:, :, None] == xp.arange(n, device=device(like))  # (m, 4, n)
    return xp.sum(xp.where(places, weights[:, :, None], 0.0), axis=1)


def antialiased_weights(n: int, m: int, *, like: Array) -> Float[Array, "m n"]:
    """Return the weights of the kernel with a = -1/2, as wide as a point of the coarser line.

        R[i, t] = K(d) / sum over t of K(d),        d = (t + 1/2 - (i + 1/2) n/m) / max(n/m, 1),  t = 0 .. n-1

    A line that shrinks is averaged, not sampled. What would lie outside is left out, and the rest sums to 1 again.
    """
    xp, half = array_namespace(like), _half(like)
    i, t = xp.arange(m, device=device(like))[:, None], xp.arange(n, device=device(like))
    numerator, denominator = (2 * t + 1) * m - (2 * i + 1) * n, 2 * max(n, m)  # of d, (m, n)
    d = xp.astype(t, like.dtype) + half - xp.astype((2 * i + 1) * n, like.dtype) / (2 * m)
    d = d * (m / xp.asarray(max(n, m), dtype=like.dtype, device=device(like)))
    weights = keys_kernel(d, xp.abs(numerator) <= denominator, -2)
    weights = xp.where(xp.abs(numerator) < 2 * denominator, weights, 0.0)
    return weights / xp.sum(weights, axis=1, keepdims=True)


def keys_kernel(d: Float[Array, "m t"], near: Bool[Array, "m t"], quarters: int) -> Float[Array, "m t"]:
    """Return Keys' cubic kernel for a = quarters/4 at distances d below 2; `near` says where |d| <= 1.

        K(d) = (a + 2)|d|^3 - (a + 3) d^2 + 1                 |d| <= 1
        K(d) = a |d|^3 - 5a d^2 + 8a |d| - 4a                 1 < |d| < 2

    Source: Keys 1981, equation 4.
    """
    xp = array_namespace(d)
    a, d = quarters, xp.abs(d)
    inner = ((a + 8) * d - (a + 12)) * d * d + 4
    outer = (((d - 5) * d + 8) * d - 4) * a
    return xp.where(near, inner, outer) / 4


def _half(like: Array) -> Array:
    return 1 / array_namespace(like).asarray(2, dtype=like.dtype, device=device(like))
