"""Swin v2's continuous bias: a network of the offset's logarithm, so that it carries over to other windows."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Float, Int

from ..embeddings.token import take_rows
from ..errors import require_sizes
from ..namespace import Array, array_namespace, device, scatter_add
from ..signatures import checked
from .gates import relu, relu_slope, sigmoid
from .grid import grid_offsets


class SwinV2BiasResiduals(NamedTuple):
    """What the gradient needs: the network once for each offset, and the offset of every pair."""

    offsets: Float[Array, "N 2"]
    w2: Float[Array, "F H"]
    hidden: Float[Array, "N F"]
    z: Float[Array, "N H"]
    rows: Int[Array, "T T"]


@checked
def swin_v2_bias_forward(
    w1: Float[Array, "2 F"],
    b1: Float[Array, " F"],
    w2: Float[Array, "F H"],
    *,
    height: int,
    width: int,
    pretrained_height: int | None = None,
    pretrained_width: int | None = None,
) -> tuple[Float[Array, "H T T"], SwinV2BiasResiduals]:
    """Let a network give the bias of every offset within a window.

        u(d, n) = sign(d) log2(1 + 8 |d| / (n - 1)) / 3                                 d = query minus key, n = extent
        y[h, t, s] = 16 sigmoid(sum over f of w2[f, h] max(u(dh, height) w1[0, f] + u(dw, width) w1[1, f] + b1[f], 0))

    The logarithm brings a larger window closer to the offsets that were trained, where a table has no rows at all.
    The bias is that of q·k / (|q| |k| τ), Swin v2's cosine attention, and lies in (0, 16).

    pretrained_height, pretrained_width: of the window trained on, to divide by; default the window's own.
    Source: Liu et al. 2022 (Swin v2), section 3.3; 8, log2, 16 and the missing second bias: the authors' code, F = 512.
    An extent of 1 has offset 0 (the authors' code divides by zero).
    Raises ValueError for weights that do not fit, or an extent below 1.
    """
    xp = array_namespace(w1, b1, w2)
    pretrained_height = height if pretrained_height is None else pretrained_height
    pretrained_width = width if pretrained_width is None else pretrained_width
    require_sizes(height=height, width=width, pretrained_height=pretrained_height, pretrained_width=pretrained_width)
    rows, columns = 2 * height - 1, 2 * width - 1
    dh, dw = grid_offsets(height, width, xp=xp, device=device(w1))  # (T, T)
    n = xp.arange(rows * columns, device=device(w1))  # every offset once
    u_h = _log_offsets(n // columns - (height - 1), pretrained_height, w1)
    u_w = _log_offsets(n % columns - (width - 1), pretrained_width, w1)
    offsets = xp.stack([u_h, u_w], axis=-1)  # (N, 2)
    hidden = offsets @ w1 + b1  # (N, F)
    z = relu(hidden) @ w2  # (N, H)
    pairs = (dh + height - 1) * columns + dw + width - 1
    y = xp.moveaxis(take_rows(16 * sigmoid(z), pairs), -1, 0)
    return y, SwinV2BiasResiduals(offsets, w2, hidden, z, pairs)


@checked
def swin_v2_bias_backward(
    dy: Float[Array, "H T T"], residuals: SwinV2BiasResiduals
) -> tuple[Float[Array, "2 F"], Float[Array, " F"], Float[Array, "F H"]]:
    """Return (dw1, db1, dw2): pairs add up at their offset first, then one pass through the network.

    dz = 16 sigmoid(z) sigmoid(-z) · sum of dy over the pairs of an offset
    """
    xp = array_namespace(dy)
    offsets, w2, hidden, z, rows = residuals
    dbias = scatter_add(rows, xp.moveaxis(dy, 0, -1), z.shape[0])  # y = bias[rows]
    dz = dbias * (16 * sigmoid(z) * sigmoid(-z))  # bias = 16 sigmoid(z)
    dhidden = (dz @ xp.matrix_transpose(w2)) * relu_slope(hidden)  # z = relu(hidden) @ w2
    dw2 = xp.matrix_transpose(relu(hidden)) @ dz
    return xp.matrix_transpose(offsets) @ dhidden, xp.sum(dhidden, axis=0), dw2  # hidden = offsets @ w1 + b1


def _log_offsets(d: Int[Array, " N"], extent: int, like: Array) -> Float[Array, " N"]:
    """Return sign(d) log2(1 + 8 |d| / (extent - 1)) / 3: log2(9) / 3 = 1.06 at the edge of the trained window."""
    xp = array_namespace(like)
    steps = xp.astype(8 * xp.abs(d), like.dtype) / max(extent - 1, 1)
    return xp.astype(xp.sign(d), like.dtype) * (xp.log2(1 + steps) / 3)
