"""A learned grid of positions for a picture of another size: bicubic interpolation, as a matrix on either side."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Float

from ..errors import require, require_integer, require_shape, require_sizes
from ..namespace import Array, array_namespace
from ..signatures import checked
from .resize import resize_matrix


class InterpolatePositionsResiduals(NamedTuple):
    """What the gradient needs: the two matrices, how many rows were kept as they are, and the width."""

    vertical: Float[Array, "H h"]
    horizontal: Float[Array, "W w"]
    prefix: int
    C: int


@checked
def interpolate_positions_forward(
    weight: Float[Array, "N C"],
    *,
    height: int,
    width: int,
    new_height: int,
    new_width: int,
    prefix: int = 0,
    antialias: bool = False,
) -> tuple[Float[Array, "M C"], InterpolatePositionsResiduals]:
    """Resize the table of a height × width grid to new_height × new_width.

        y[i, j, :] = sum over r, c of R_h[i, r] R_w[j, c] weight[r, c, :]            y = R_h P R_wᵀ for each channel

    It is linear in the table, whatever the kernel, so the gradient is the transposed pair of matrices. Resizing the
    gradient back is another function, and wrong.

    weight: `prefix` rows that are no place (class token, registers) and are kept, then the grid row by row.
    antialias: False for Keys' kernel with a = -3/4, places beyond the edge read the edge; True for a = -1/2, widened
    when the grid shrinks, places beyond the edge left out. They differ in either direction.
    Source: Keys 1981, equation 4; Dosovitskiy et al. 2021 (ViT), section 3.2. Hugging Face ViT and DINOv2:
    antialias=False; timm and jax.image.resize("cubic"): True.
    Raises ValueError for sizes below 1, or a weight that has not prefix + height · width rows.
    """
    xp = array_namespace(weight)
    require_sizes(height=height, width=width, new_height=new_height, new_width=new_width)
    rows, C = weight.shape
    require_integer("prefix", prefix, 0)
    needed = prefix + height * width
    require(rows == needed, "weight", f"{rows} rows", f"{needed}, prefix + height · width")
    vertical = resize_matrix(height, new_height, antialias, like=weight)
    horizontal = resize_matrix(width, new_width, antialias, like=weight)
    grid = _both_ways(vertical, xp.reshape(weight[prefix:, :], (height, width, C)), horizontal)
    y = xp.concat([weight[:prefix, :], grid], axis=0)
    return y, InterpolatePositionsResiduals(vertical, horizontal, prefix, C)


@checked
def interpolate_positions_backward(
    dy: Float[Array, "M C"], residuals: InterpolatePositionsResiduals
) -> Float[Array, "N C"]:
    """Return the gradient of the table: the adjoint.

    dP = R_hᵀ dy R_w for each channel; the prefix rows take theirs as it is
    """
    xp = array_namespace(dy)
    vertical, horizontal, prefix, C = residuals
    require_shape("dy", dy, (prefix + vertical.shape[0] * horizontal.shape[0], C))
    grid = xp.reshape(dy[prefix:, :], (vertical.shape[0], horizontal.shape[0], C))
    dweight = _both_ways(vertical.mT, grid, horizontal.mT)  # y = R_h P R_wᵀ
    return xp.concat([dy[:prefix, :], dweight], axis=0)


def _both_ways(vertical: Array, grid: Float[Array, "h w C"], horizontal: Array) -> Float[Array, "M C"]:
    """Return R_h P R_wᵀ of every channel, row by row."""
    xp = array_namespace(grid)
    resized = horizontal @ xp.permute_dims(vertical @ xp.permute_dims(grid, (1, 0, 2)), (1, 0, 2))  # (H, W, C)
    return xp.reshape(resized, (-1, grid.shape[-1]))
