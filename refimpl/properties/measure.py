"""Ask a score f(i, j) what teaching texts disagree on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as xp

from ..ops import OPS
from .encodings import TRAINED, Array, D, Encoding

FAR, NEAR = 2**17, 2**13  # two distances far beyond training, and beyond the longest wave, to see growth
RANDOM = {"global_shift", "local_shift", "log_scale", "keep"}  # inputs that are drawn anew for every training step
EXACT = 1e-9  # float64 noise on scores of size 1, and of size FAR


class Properties(NamedTuple):
    """The answers for one encoding; None where the question does not apply."""

    door: int
    parameters: int  # learned numbers a head of width 8, for 64 positions
    absolute: bool  # f(i, j) depends on more than j - i
    symmetric: bool  # f(i, j) = f(j, i)
    unambiguous: bool  # a query tells any two of the keys behind it apart
    falling: bool  # equal contents score lower and lower over the nearest 8 keys
    bounded: bool  # f grows no more between distances 8,192 and 131,072
    keeps_norm: bool  # vectors keep their length (doors 1, 2) or are not touched (door 3)
    length_free: bool  # f(i, j) does not depend on the length of the sequence
    cache_consistent: bool  # keys encoded when the sequence was shorter stay valid
    endless: bool  # defined beyond the 64 positions it was made for
    deterministic: bool  # takes no random inputs
    cost: str  # numbers made for T tokens: "T" or "T²"


def measure(encoding: Encoding) -> Properties:
    """Compute every property of an encoding from its ops, in float64 on NumPy."""
    q, k = _contents()
    f = encoding.scores(q, k, TRAINED, TRAINED)
    longer = encoding.scores(q, k, TRAINED, TRAINED, length=4 * TRAINED)
    same = encoding.scores(q, q, TRAINED, TRAINED)
    return Properties(
        encoding.door,
        encoding.parameters,
        absolute=not _equal(f[1:, 1:], f[:-1, :-1]),
        symmetric=_equal(f, f.T),
        unambiguous=_all_apart(f[-1, :]),
        falling=bool(xp.all(xp.diff(same[-1, -8:]) > 0)),
        bounded=_bounded(encoding),
        keeps_norm=_keeps_norm(encoding),
        length_free=_equal(f, longer),
        cache_consistent=_equal(longer, encoding.scores(q, k, TRAINED, TRAINED, length=4 * TRAINED, cached=TRAINED)),
        endless=_endless(encoding),
        deterministic=not RANDOM & set(OPS[encoding.op].arrays),
        cost={2: "T", 4: "T²"}[_size(encoding, TRAINED) // _size(encoding, TRAINED // 2)],
    )


def _contents() -> tuple[Array, Array]:
    q, k = xp.cos(xp.arange(1.0, D + 1)), xp.sin(xp.arange(2.0, D + 2))
    return q, k


def _equal(a: Array, b: Array) -> bool:
    return bool(xp.max(xp.abs(a - b)) < EXACT)


def _all_apart(row: Array) -> bool:
    """Say whether all scores of a row differ."""
    return bool(xp.min(xp.diff(xp.sort(row))) > EXACT)


def _endless(encoding: Encoding) -> bool:
    q, k = _contents()
    try:
        encoding.scores(q, k, 1, TRAINED + 1, TRAINED)
    except ValueError:
        return False
    return True


def _bounded(encoding: Encoding) -> bool:
    """Say whether the scores of one far query leave the range that they have at NEAR."""
    if not _endless(encoding):
        return True  # a table of finite numbers
    q, k = _contents()
    near, far = (float(xp.max(xp.abs(encoding.scores(q, k, 1, S, S - 1)))) for S in (NEAR, FAR))
    return far < 1.2 * near


def _size(encoding: Encoding, T: int) -> int:
    """Count the numbers that an encoding makes for T queries and T keys."""
    q, k = _contents()
    if encoding.bias:
        many_q, many_k = (xp.broadcast_to(x, (T, D)) for x in (q, k))
        return int(encoding.bias(many_q, many_k, T, T, 0, TRAINED).size)
    return sum(int(place(q, xp.arange(T), TRAINED).size) for place in (encoding.place_q, encoding.place_k) if place)


def _keeps_norm(encoding: Encoding) -> bool:
    x, positions = _contents()[0], xp.arange(1, TRAINED)
    places = [place for place in (encoding.place_q, encoding.place_k) if place]
    norms = [xp.linalg.vector_norm(place(x, positions, TRAINED), axis=-1) for place in places]
    return all(_equal(norm, xp.linalg.vector_norm(x)) for norm in norms)
