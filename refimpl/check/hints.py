"""What a wrong result looks like, where no known mistake explains it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..exact.profiles import PROFILES
from .axes import axis_names, positions
from .compare import Comparison
from .hints_instead import in_part, instead
from .hints_where import beyond, first_wrong, growing, masked_rows, not_finite, only_at

Arrays = Mapping[str, np.ndarray]


class Asked(NamedTuple):
    """What a result belongs to."""

    op: str
    params: Mapping[str, Any]
    inputs: Arrays
    profile: str


def hints(got: Arrays, want: Arrays, tol: Arrays, found: Mapping[str, Comparison], asked: Asked) -> tuple[str, ...]:
    """Return short remarks, most telling first. `found` holds the comparisons of `got`, in float64, with `want`."""
    wrong = [name for name in found if found[name].off]
    said: dict[str, list[str]] = {}
    for name in wrong:
        for remark in _of_one(name, got[name], want[name], tol[name], asked):
            said.setdefault(remark, []).append(name)
    only = ["only gradients differ"] if len(wrong) < len(found) and all(n.startswith("grad.") for n in wrong) else []
    return (*only, *(f"{', '.join(names)}: {remark}" for remark, names in said.items()))


def _of_one(name: str, got: np.ndarray, want: np.ndarray, tol: np.ndarray, asked: Asked) -> Iterator[str]:
    """Remark on one result: what it is instead, and where it is out."""
    names = axis_names(asked.op, name, want.ndim)
    lengths = {n for array in (*asked.inputs.values(), want) for n in array.shape}
    precision = PROFILES[asked.profile].storage.precision
    whole = list(itertools.islice(instead(got, want, tol, asked.inputs, lengths, names), 1))
    yield from whole
    if whole or got.shape != want.shape:
        return
    with np.errstate(all="ignore"):
        outside = ~((got == want) | (np.abs(got - want) <= tol))
    yield from not_finite(got, want)
    if "mask" in asked.inputs and (masked := list(masked_rows(outside, want))):
        yield from masked
        return
    yield from itertools.islice(in_part(got, want, tol, precision, lengths, names), 1)
    if np.count_nonzero(outside) < 2:
        return
    yield from only_at(outside, names)
    where = positions(asked.op, name, want.shape, asked.inputs, asked.params)
    if where is not None:
        yield from beyond(outside, where)
        yield from growing(got, want, where)
    if not outside.all():
        yield from first_wrong(outside, names)
