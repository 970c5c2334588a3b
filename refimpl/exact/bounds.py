"""Bound(profile): balls that are widened after every operation by what the profile's rounding may add."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb

from .array import BOOL, Array, Data
from .balls import Undecided
from .bounded_sums import BoundedSums
from .functions import each, is_small_integer
from .profiles import Format, Profile, profile_named
from .representable import abs_upper, fits, is_power_of_two, is_zero
from .widening import POWER, UNIT, model, widened

UNTOUCHED = frozenset(("negative", "abs", "sign", "floor", "ceil", "trunc", "round", "maximum", "minimum"))
SUMS = frozenset(("add", "subtract"))


@dataclass(frozen=True)
class Bound(BoundedSums):
    """Enclosures of everything that an evaluation in this profile may give."""

    profile: str
    bits: int = 128

    def __post_init__(self) -> None:
        profile_named(self.profile)

    @property
    def formats(self) -> Profile:
        return profile_named(self.profile)

    @property
    def wide(self) -> Format:  # type: ignore[override]
        return self.formats.wide

    def enter(self, values: np.ndarray, narrow: bool) -> np.ndarray:
        return widened(super().enter(values, narrow), self.formats.storage if narrow else self.wide)

    def store(self, data: np.ndarray, narrow: bool, keep: Any = False, gradual: bool = True) -> np.ndarray:
        if not narrow or self.formats.storage == self.wide:
            return data
        return widened(data, self.formats.storage, keep=keep, gradual=gradual)

    def elementwise(self, name: str, *arrays: Array, narrow: bool) -> np.ndarray:
        operands = [x.data for x in arrays]
        exact = super().elementwise(name, *arrays, narrow=narrow)
        if name in UNTOUCHED:
            return exact
        passed = passes(name, *operands)
        if name == "pow":
            result = self._power(exact, operands[0], operands[1], _any(passed))
        else:
            factor, offset = model(name, operands[0], self.wide)
            result = widened(exact, self.wide, factor, offset, keep=_any(passed), gradual=name not in SUMS)
        # what passes is stored already if its own operand was
        stored = [mask & (not x.wide) for mask, x in zip(passed, arrays, strict=False)]
        return self.store(result, narrow, _any(stored), name not in SUMS or any(x.wide for x in arrays))

    def _power(self, exact: Data, x: Data, y: Data, keep: Any) -> Data:
        """An integer power as a product, any other as exp(y log x) with the error of each step."""
        integer = each(is_small_integer, np.bool_)(y)
        factor = (abs_upper(y) + POWER) * self.wide.unit_roundoff * UNIT + 1
        product = widened(exact, self.wide, factor, keep=keep)
        if integer.all():
            return product
        steps = self.exp(self.multiply(Array(self, y), self.log(Array(self, x)))).data
        return np.where(integer | fits(exact, self.wide), product, steps)

    def undecided(self, name: str, holds: np.ndarray, open: np.ndarray) -> Array:
        return Open(self, holds, open)

    def where(self, condition: Array, x1: Any, x2: Any, /) -> Array:
        if not isinstance(condition, Open):
            return super().where(condition, x1, x2)
        x, y = (self._real(x) for x in self._unified(x1, x2))
        chosen = super().where(Array(self, condition.holds), x, y)
        hull = self._compute(lambda narrow: each(arb.union, operands=2)(x.data, y.data), narrow=not chosen.wide)
        return super().where(Array(self, condition.open), hull, chosen)


class Open(Array):
    """A comparison that rounding may turn either way. Only `where` can take it, and gives the hull of both ways."""

    def __init__(self, xp: Any, holds: np.ndarray, open: np.ndarray) -> None:
        self.xp, self.holds, self.open, self.wide = xp, holds, open, True

    @property
    def data(self) -> np.ndarray:  # type: ignore[override]
        raise Undecided(
            "a comparison lies within rounding error; only xp.where takes it, so use xp.maximum, xp.minimum"
        )

    @property
    def shape(self) -> tuple[int, ...]:
        return self.holds.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return BOOL


def passes(name: str, x: np.ndarray, y: np.ndarray | None = None) -> list[np.ndarray]:
    """Say where the result is x up to a power of two, and where it is y: nothing is rounded there."""
    if y is None:
        return []
    if name in SUMS:
        return [is_zero(y), is_zero(x)]
    if name == "pow":
        return [np.asarray(y == 1, np.bool_)]
    return [is_power_of_two(y)] + ([is_power_of_two(x)] if name == "multiply" else [])


def _any(masks: list[np.ndarray]) -> Any:
    return np.logical_or(*masks) if len(masks) > 1 else masks[0] if masks else False
