"""Heads: cutting a width into them, sharing keys and values between them, and the scale of their scores."""

from __future__ import annotations

from jaxtyping import Float

from ..errors import require, require_broadcastable
from ..namespace import Array, array_namespace, constant


def split_heads(argument: str, x: Float[Array, "*B T HD"], H: int) -> Float[Array, "*B H T D"]:
    """Cut the last axis into H heads and put them before time."""
    xp = array_namespace(x)
    *batch, T, width = x.shape
    require(width % H == 0, argument, f"width {width}", f"a multiple of {H} heads")
    return xp.moveaxis(xp.reshape(x, (*batch, T, H, width // H)), -2, -3)


def merge_heads(x: Float[Array, "*B H T D"]) -> Float[Array, "*B T HD"]:
    """Undo `split_heads`."""
    xp = array_namespace(x)
    *batch, H, T, D = x.shape
    return xp.reshape(xp.moveaxis(x, -3, -2), (*batch, T, H * D))


def repeat_heads(x: Float[Array, "*B G S D"], group: int) -> Float[Array, "*B H S D"]:
    """Give every query head its key or value head: h reads h // group."""
    return array_namespace(x).repeat(x, group, axis=-3)


def sum_heads(dx: Float[Array, "*B H S D"], group: int) -> Float[Array, "*B G S D"]:
    """Undo `repeat_heads`: what was copied adds up."""
    xp = array_namespace(dx)
    *batch, H, S, D = dx.shape
    return xp.sum(xp.reshape(dx, (*batch, H // group, group, S, D)), axis=-3)


def score_scale(scale: float | None, D: int, like: Array) -> Array:
    """Return the caller's scale, or 1/√D."""
    xp = array_namespace(like)
    return 1 / xp.sqrt(constant(D, like=like)) if scale is None else constant(scale, like=like)


def require_attention(q: Array, k: Array, **openings: Array | None) -> None:
    """Raise ValueError where key heads cannot be dealt out, or what joins the scores or the weights does not fit."""
    H, G, S = q.shape[-3], k.shape[-3], k.shape[-2]
    require(H % G == 0, "k", f"{G} key heads", f"a divisor of the {H} query heads")
    for name, opening in openings.items():
        if opening is not None:
            require_broadcastable(name, opening, (*q.shape[:-1], S))
