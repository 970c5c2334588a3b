"""A learned grid of positions for a picture of another size: bicubic interpolation, as a matrix on either side."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Shaped

from ..errors import require
from ..namespace import Array, array_namespace
from .resize import resize_matrix


class InterpolatePositionsResiduals(NamedTuple):
    """What the gradient needs: the two matrices, and how many rows were kept as they are."""

    vertical: Shaped[Array, "H h"]
    horizontal: Shaped[Array, "W w"]
    prefix: int


def interpolate_positions_forward(
    weight: Shaped[Array, "N C"],
    *,
    height: int,
    width: int,
    new_height: int,
    new_width: int,
    prefix: int = 0,
    antialias: bool = False,
) -> tuple[Shaped[Array, "M C"], InterpolatePositionsResiduals]:
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
    for name, size in (("height", height), ("width", width), ("new_height", new_height), ("new_width", new_width)):
        require(size >= 1, name, size, "an integer >= 1")
    rows, C = weight.shape
    require(prefix >= 0, "prefix", prefix, "an integer >= 0")
    needed = prefix + height * width
    require(rows == needed, "weight", f"{rows} rows", f"{needed}, prefix + height · width")
    vertical = resize_matrix(height, new_height, antialias, like=weight)
    horizontal = resize_matrix(width, new_width, antialias, like=weight)
    grid = _both_ways(vertical, xp.reshape(weight[prefix:, :], (height, width, C)), horizontal)
    y = xp.concat([weight[:prefix, :], grid], axis=0)
    return y, InterpolatePositionsResiduals(vertical, horizontal, prefix)


def interpolate_positions_backward(
    dy: Shaped[Array, "M C"], residuals: InterpolatePositionsResiduals
) -> Shaped[Array, "N C"]:
    """Return the gradient of the table: the adjoint.

    dP = R_hᵀ dy R_w for each channel; the prefix rows take theirs as it is
    """
    xp = array_namespace(dy)
    vertical, horizontal, prefix = residuals
    grid = xp.reshape(dy[prefix:, :], (vertical.shape[0], horizontal.shape[0], dy.shape[-1]))
    dweight = _both_ways(vertical.mT, grid, horizontal.mT)  # y = R_h P R_wᵀ
    return xp.concat([dy[:prefix, :], dweight], axis=0)


def _both_ways(vertical: Array, grid: Shaped[Array, "h w C"], horizontal: Array) -> Shaped[Array, "M C"]:
    """Return R_h P R_wᵀ of every channel, row by row."""
    xp = array_namespace(grid)
    resized = horizontal @ xp.permute_dims(vertical @ xp.permute_dims(grid, (1, 0, 2)), (1, 0, 2))  # (H, W, C)
    return xp.reshape(resized, (-1, grid.shape[-1]))
