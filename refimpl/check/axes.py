"""What the axes of a result are, from the shapes in the signature of its op."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, get_args, get_type_hints

import numpy as np

from ..ops import OPS

WORDS = {
    "T": "position",
    "S": "key",
    "H": "head",
    "G": "key/value head",
    "D": "channel",
    "E": "channel",
    "C": "channel",
    "R": "channel",
    "F": "channel",
    "N": "row",
    "V": "row",
}


def axis_names(op: str, result: str, ndim: int) -> list[str]:
    """Return a word for each axis of a result, "axis 2" where its signature says no more."""
    letters = _shapes(op).get(result, "...").split()
    known = ["" for _ in range(ndim)]
    for i, letter in enumerate(reversed(letters)):
        if i == ndim or letter == "..." or letter.startswith("*"):
            break
        known[ndim - 1 - i] = WORDS.get(letter.strip("#"), "")
    return [name if name and known.count(name) == 1 else f"axis {i}" for i, name in enumerate(known)]


def positions(
    op: str, result: str, shape: tuple[int, ...], inputs: Mapping[str, np.ndarray], params: Mapping[str, Any]
) -> np.ndarray | None:
    """Return the position of each element of a result, in its shape; None where nothing says it."""
    names = axis_names(op, result, len(shape))
    if "positions" in inputs and inputs["positions"].ndim and not result.startswith("grad.positions"):
        given = inputs["positions"][..., None]
        try:
            return np.broadcast_to(given, shape).astype(np.float64)
        except ValueError:
            return None
    if "position" not in names:
        return None
    axis = names.index("position")
    first = next((params[name] for name in ("q_offset", "start", "offset") if isinstance(params.get(name), int)), 0)
    along = first + np.arange(shape[axis], dtype=np.float64)
    return np.broadcast_to(along.reshape([-1 if i == axis else 1 for i in range(len(shape))]), shape)


@cache
def _shapes(op: str) -> dict[str, str]:
    """Return the shape of each result as its signature writes it: "*B H T D"."""
    hints = get_type_hints(OPS[op].forward)
    found = {f"grad.{name}": _written(hints[name]) for name in OPS[op].gradients if name in hints}
    returned = hints.get("return")
    first = get_args(returned)[0] if OPS[op].backward is not None and get_args(returned) else returned
    if len(OPS[op].outputs) > 1:
        return found | {name: _written(hint) for name, hint in get_type_hints(first).items()}
    return found | {"y": _written(first)}


def _written(hint: Any) -> str:
    return next(_dims(hint), "...")


def _dims(hint: Any) -> Iterator[str]:
    for part in (hint, *get_args(hint)):
        if hasattr(part, "dim_str"):
            yield part.dim_str
