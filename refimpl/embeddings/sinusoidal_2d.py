"""Sinusoidal positions on a grid: half of the channels for the row, half for the column."""

from __future__ import annotations

from typing import Any, NamedTuple

from jaxtyping import Float, Real

from ..errors import require_even, require_shape
from ..namespace import Array, array_namespace
from ..signatures import checked
from .sinusoidal import SinusoidalResiduals, sinusoidal_backward, sinusoidal_forward


class Sinusoidal2dResiduals(NamedTuple):
    """The residuals of both coordinates, and which of them comes first."""

    row: SinusoidalResiduals
    column: SinusoidalResiduals
    columns_first: bool


@checked
def sinusoidal_2d_forward(
    positions: Real[Array, "*P 2"],
    C: int,
    *,
    base: float = 10000.0,
    layout: str = "interleaved",
    frequency_shift: int = 0,
    columns_first: bool = False,
    dtype: Any = None,
) -> tuple[Float[Array, "*P C"], Sinusoidal2dResiduals]:
    """Encode the row and the column of every place, C/2 channels each.

        y = [PE(row), PE(column)]            or [PE(column), PE(row)] with columns_first

    The inner product of two places is a sum of one function of the vertical distance and the same function of the
    horizontal one: a square grid cannot tell which block came first, so test on a rectangle.

    positions: (..., 2), the row (y, downwards) before the column (x), integers or reals. An odd C/2 ends on zeros.
    Source: Parmar et al. 2018 (Image Transformer), section 3.1. DETR: the defaults, with rows and columns counted from
    1, if asked scaled to 2π over the picture. MAE: layout="sin_cos", columns_first=True, though its code says emb_h.
    Raises ValueError for an odd C, positions that are no pairs, else as `sinusoidal`.
    """
    require_even("C", C, 4)
    xp = array_namespace(positions)
    options: dict[str, Any] = {"base": base, "layout": layout, "frequency_shift": frequency_shift, "dtype": dtype}
    y_row, row = sinusoidal_forward(positions[..., 0], C // 2, pad_odd=True, **options)
    y_column, column = sinusoidal_forward(positions[..., 1], C // 2, pad_odd=True, **options)
    y = xp.concat([y_column, y_row] if columns_first else [y_row, y_column], axis=-1)  # (*P, C)
    return y, Sinusoidal2dResiduals(row, column, columns_first)


@checked
def sinusoidal_2d_backward(dy: Float[Array, "*P C"], residuals: Sinusoidal2dResiduals) -> Float[Array, "*P 2"] | None:
    """Return the gradient of real positions, None for integer ones.

    dpositions = [drow, dcolumn],    each from its own half of dy
    """
    xp = array_namespace(dy)
    row, column, columns_first = residuals
    half = row.C
    require_shape("dy", dy, (*row.cos.shape[:-1], 2 * half))
    first, second = dy[..., :half], dy[..., half:]  # y = [PE(row), PE(column)]
    drow = sinusoidal_backward(second if columns_first else first, row)
    dcolumn = sinusoidal_backward(first if columns_first else second, column)
    return None if drow is None else xp.stack([drow, dcolumn], axis=-1)
