"""Heads: cutting a width into them, sharing keys and values between them, and the scale of their scores."""

from __future__ import annotations

from typing import Any

from jaxtyping import Shaped

from ..errors import require, require_broadcastable, require_mask, require_shape
from ..namespace import Array, array_namespace, constant


def split_heads(argument: str, x: Shaped[Array, "*B T HD"], H: int) -> Shaped[Array, "*B H T D"]:
    """Cut the last axis into H heads and put them before time."""
    xp = array_namespace(x)
    *batch, T, width = x.shape
    require(width % H == 0, argument, f"width {width}", f"a multiple of {H} heads")
    return xp.moveaxis(xp.reshape(x, (*batch, T, H, width // H)), -2, -3)


def merge_heads(x: Shaped[Array, "*B H T D"]) -> Shaped[Array, "*B T HD"]:
    """Undo `split_heads`."""
    xp = array_namespace(x)
    *batch, H, T, D = x.shape
    return xp.reshape(xp.moveaxis(x, -3, -2), (*batch, T, H * D))


def repeat_heads(x: Shaped[Array, "*B G S D"], group: int) -> Shaped[Array, "*B H S D"]:
    """Give every query head its key or value head: h reads h // group."""
    return array_namespace(x).repeat(x, group, axis=-3)


def sum_heads(dx: Shaped[Array, "*B H S D"], group: int) -> Shaped[Array, "*B G S D"]:
    """Undo `repeat_heads`: what was copied adds up."""
    xp = array_namespace(dx)
    *batch, H, S, D = dx.shape
    return xp.sum(xp.reshape(dx, (*batch, H // group, group, S, D)), axis=-3)


def score_scale(scale: float | None, D: int, like: Array) -> Array:
    """Return the caller's scale, or 1/√D."""
    xp = array_namespace(like)
    return 1 / xp.sqrt(constant(D, like=like)) if scale is None else constant(scale, like=like)


def require_cotangents(dy: Any, rows: tuple[int, ...], E: int) -> None:
    """Raise ValueError unless dy is the pair (dy, dlse) for these rows, at least one of them an array."""
    form = "Attention(dy, dlse), at least one of them an array"
    require(isinstance(dy, tuple) and len(dy) == 2 and hasattr(dy, "lse"), "dy", type(dy).__name__, form)
    require(dy.y is not None or dy.lse is not None, "dy", "None and None", form)
    if dy.y is not None:
        require_shape("dy.y", dy.y, (*rows, E))
    if dy.lse is not None:
        require_shape("dy.lse", dy.lse, rows)


def require_attention(
    q: Array, k: Array, v: Array, bias: Array | None, sink: Array | None, masks: dict[str, Array | None]
) -> None:
    """Raise ValueError where the shapes of attention do not meet, or a mask is not boolean."""
    for name, array in (("q", q), ("k", k), ("v", v)):
        require(array.ndim >= 3, name, f"shape {tuple(array.shape)}", "(..., heads, length, width)")
    H, T, D = q.shape[-3:]
    G, S, _ = k.shape[-3:]
    batch = tuple(q.shape[:-3])
    require(tuple(k.shape) == (*batch, G, S, D), "k", f"shape {tuple(k.shape)}", f"{(*batch, 'G', 'S', D)} to fit q")
    fits = f"{(*batch, G, S, 'E')} to fit k"
    require(tuple(v.shape[:-1]) == (*batch, G, S), "v", f"shape {tuple(v.shape)}", fits)
    require(S >= 1, "k", "no key", "at least one key (mask it out for an empty row)")
    require(G >= 1 and H % G == 0, "k", f"{G} key heads", f"a divisor of the {H} query heads")
    if bias is not None:
        require_broadcastable("bias", bias, (*batch, H, T, S))
    if sink is not None:
        require(tuple(sink.shape) == (H,), "sink", f"shape {tuple(sink.shape)}", f"({H},), one logit a query head")
    for name, mask in masks.items():
        if mask is not None:
            require_mask(name, mask, (*batch, H, T, S))
