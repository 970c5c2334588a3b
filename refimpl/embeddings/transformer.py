"""The complete embedding layer of a transformer: tokens, positions, dropout."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Bool, Float, Int

from ..errors import require, require_number, require_one_of
from ..namespace import Array, array_namespace, device, unbroadcast
from ..signatures import checked
from .dropout import DropoutResiduals, dropout_backward, dropout_forward, require_keep
from .learned import LearnedPositionResiduals, learned_position_backward, learned_position_forward
from .sinusoidal import sinusoidal_forward
from .token import TokenEmbeddingResiduals, token_embedding_backward, token_embedding_forward

POSITIONS = ("sinusoidal", "learned", "none")


class TransformerEmbeddingResiduals(NamedTuple):
    """The residuals of the three parts; absent parts are None."""

    token: TokenEmbeddingResiduals
    learned: LearnedPositionResiduals | None
    dropout: DropoutResiduals | None
    batch_first: bool


@checked
def transformer_embedding_forward(
    ids: Int[Array, "*I"],
    weight: Float[Array, "V C"],
    position_weight: Float[Array, "N C"] | None = None,
    *,
    position: str = "sinusoidal",
    scale_by_sqrt_width: bool = True,
    padding_idx: int | None = None,
    start: int = 0,
    base: float = 10000.0,
    keep: Bool[Array, "..."] | None = None,
    p: float = 0.0,
    batch_first: bool = True,
) -> tuple[Float[Array, "*I C"], TransformerEmbeddingResiduals]:
    """Turn ids into the vectors that enter the first layer.

        y = dropout(√C · weight[ids] + PE(start + t))

    √C brings the table, whose rows are usually drawn with variance 1/C, to the size of the sinusoids; added before any
    projection, position and content share all C channels.

    ids: (*B, T), or (T, *B) with batch_first=False; y has the same layout and a last axis C.
    position: "sinusoidal" (paper form), "learned" (rows start .. start+T-1 of position_weight), or "none".
    keep, p: dropout's keep-mask and probability of dropping; keep=None means no dropout.
    Source: Vaswani et al. 2017, sections 3.4, 3.5 and 5.4.
    Raises ValueError for ids or positions outside their tables, an unknown kind of position, a table that is missing or
    not asked for, p > 0 without a mask.
    """
    xp = array_namespace(ids, weight)
    require_one_of("position", position, POSITIONS)
    require_number("base", base, above=0)
    given = "None" if position_weight is None else f"a table of shape {tuple(position_weight.shape)}"
    allowed = f'a table exactly when position="learned" (position is {position!r})'
    require((position == "learned") == (position_weight is not None), "position_weight", given, allowed)
    require_keep(keep, p)
    y, token = token_embedding_forward(
        ids, weight, scale_by_sqrt_width=scale_by_sqrt_width, padding_idx=padding_idx
    )  # (*B, T, C) or (T, *B, C)
    T = ids.shape[-1 if batch_first else 0]
    positions = xp.arange(start, start + T, device=device(ids))
    learned = dropped = None
    if position == "learned":
        _require_rows(start, T, position_weight)
        encoding, learned = learned_position_forward(positions, position_weight)  # (T, C)
        y = y + _along_time(encoding, ids.ndim, batch_first)
    elif position == "sinusoidal":
        encoding, _ = sinusoidal_forward(positions, weight.shape[1], base=base, dtype=weight.dtype)  # (T, C)
        y = y + _along_time(encoding, ids.ndim, batch_first)
    if keep is not None:
        y, dropped = dropout_forward(y, keep=keep, p=p)
    return y, TransformerEmbeddingResiduals(token, learned, dropped, batch_first)


@checked
def transformer_embedding_backward(
    dy: Float[Array, "*I C"], residuals: TransformerEmbeddingResiduals
) -> tuple[Float[Array, "V C"], Float[Array, "N C"] | None]:
    """Return (dweight, dposition_weight): the same gradient flows into both tables; fixed sinusoids take none.

    dweight[v] = √C · sum of dy over the places of token v,   dposition_weight[n] = sum of dy over the batch
    """
    token, learned, dropped, batch_first = residuals
    dposition_weight = None
    if dropped is not None:  # y = dropout(y)
        dy = dropout_backward(dy, dropped)
    dweight = token_embedding_backward(dy, token)
    if learned is not None:  # y = y + encoding, for every sequence of the batch
        shape = _along_time(learned.positions[:, None], token.ids.ndim, batch_first).shape[:-1]
        encoding = unbroadcast(dy, (*shape, dy.shape[-1]))
        xp = array_namespace(dy)
        dposition_weight = learned_position_backward(xp.reshape(encoding, (-1, dy.shape[-1])), learned)
    return dweight, dposition_weight


def _along_time(encoding: Array, ndim: int, batch_first: bool) -> Array:
    """Give (T, C) the axes of ids: (T, C) as it is if time comes last, else (T, 1, ..., C)."""
    xp = array_namespace(encoding)
    T, C = encoding.shape
    return encoding if batch_first else xp.reshape(encoding, (T,) + (1,) * (ndim - 1) + (C,))


def _require_rows(start: int, T: int, position_weight: Array) -> None:
    """Raise ValueError where the sequence is longer than the learned table."""
    rows = position_weight.shape[0]
    got = f"a sequence of length {T} from start {start}, positions {start} .. {start + T - 1}"
    allowed = f"positions 0 .. {rows - 1} (position_weight has {rows} rows)"
    require(start >= 0 and start + T <= rows, "ids", got, allowed)
