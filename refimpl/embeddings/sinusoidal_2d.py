"""Sinusoidal positions on a grid: half of the channels for the row, half for the column."""

from __future__ import annotations

from typing import Any, NamedTuple

from jaxtyping import Shaped

from ..errors import require
from ..namespace import Array, array_namespace
from .sinusoidal import SinusoidalResiduals, sinusoidal_backward, sinusoidal_forward


class Sinusoidal2dResiduals(NamedTuple):
    """The residuals of both coordinates, and which of them comes first."""

    row: SinusoidalResiduals
    column: SinusoidalResiduals
    columns_first: bool


def sinusoidal_2d_forward(
    positions: Shaped[Array, "*P 2"],
    C: int,
    *,
    base: float = 10000.0,
    layout: str = "interleaved",
    frequency_shift: int = 0,
    columns_first: bool = False,
    dtype: Any = None,
) -> tuple[Shaped[Array, "*P C"], Sinusoidal2dResiduals]:
    """Encode the row and the column of every place, C/2 channels each.

        y = [PE(row), PE(column)]            or [PE(column), PE(row)] with columns_first

    The inner product of two places is a sum of one function of the vertical distance and the same function of the
    horizontal one: a square grid cannot tell which block came first, so test on a rectangle.

    positions: (..., 2), the row (y, downwards) before the column (x), integers or reals. An odd C/2 ends on zeros.
    Source: Parmar et al. 2018 (Image Transformer), section 3.1. DETR: the defaults, with rows and columns counted from
    1, if asked scaled to 2π over the picture. MAE: layout="sin_cos", columns_first=True, though its code says emb_h.
    Raises ValueError for an odd C, positions that are no pairs, else as `sinusoidal`.
    """
    require(C >= 4 and C % 2 == 0, "C", C, "an even integer >= 4")
    require(positions.shape[-1] == 2, "positions", f"shape {tuple(positions.shape)}", "(..., 2), row and column")
    xp = array_namespace(positions)
    options: dict[str, Any] = {"base": base, "layout": layout, "frequency_shift": frequency_shift, "dtype": dtype}
    y_row, row = sinusoidal_forward(positions[..., 0], C // 2, pad_odd=True, **options)
    y_column, column = sinusoidal_forward(positions[..., 1], C // 2, pad_odd=True, **options)
    y = xp.concat([y_column, y_row] if columns_first else [y_row, y_column], axis=-1)  # (*P, C)
    return y, Sinusoidal2dResiduals(row, column, columns_first)


def sinusoidal_2d_backward(dy: Shaped[Array, "*P C"], residuals: Sinusoidal2dResiduals) -> Shaped[Array, "*P 2"] | None:
    """Return the gradient of real positions, None for integer ones.

    dpositions = [drow, dcolumn],    each from its own half of dy
    """
    xp = array_namespace(dy)
    row, column, columns_first = residuals
    half = dy.shape[-1] // 2
    first, second = dy[..., :half], dy[..., half:]  # y = [PE(row), PE(column)]
    drow = sinusoidal_backward(second if columns_first else first, row)
    dcolumn = sinusoidal_backward(first if columns_first else second, column)
    return None if drow is None else xp.stack([drow, dcolumn], axis=-1)
