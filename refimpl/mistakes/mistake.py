"""What is known of a mistake, and the tools to make one on purpose.

A mutant is the op itself with one thing wrong: an argument (`changed`), what it passes on (`then`), what its gradient
remembers (`remembering`), or a function that it calls (`rewired`). So it cannot drift away from the op.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import Any, NamedTuple

from ..namespace import Array, array_namespace

Function = Callable[..., Any]
Pair = dict[str, Any]  # "forward" and "backward" of a Mistake that changes both
KINDS = {
    "LAYOUT": "axes, pairs of channels, order of heads",
    "SCALE": "a factor or a term that is missing, doubled, or another",
    "PRECISION": "too few bits, or an overflow, on the way",
    "OFFSET": "where positions start",
    "MASK": "what is left out, and how",
    "INDEXING": "which row, head or sequence is read",
    "GRADIENT": "the backward pass alone",
    "EDGE": "inputs at the edge of what is allowed, and options beside the usual ones",
}


class Mistake(NamedTuple):
    """One way to get an op wrong; forward and backward replace the op's own, None leaves it as it is."""

    op: str
    kind: str  # one of KINDS
    description: str  # wrong → right
    effect: str  # what its author sees
    seen: tuple[str, ...] = ()  # public issues, "repository#number"; () where nobody has reported it
    forward: Function | None = None
    backward: Function | None = None
    convention: str | None = None  # id in conventions.json of the choice that it makes otherwise; None for a plain bug


def changed(function: Function, **changes: Callable[[Any], Any]) -> Function:
    """Return the function with some arguments replaced, each by a function of all of them.

    changed(rope_forward, interleaved=lambda a: not a.interleaved)
    """
    signature = inspect.signature(function)

    def mutant(*args: Any, **options: Any) -> Any:
        bound = signature.bind(*args, **options)
        bound.apply_defaults()
        given = SimpleNamespace(**bound.arguments)
        bound.arguments.update({name: change(given) for name, change in changes.items()})
        return function(*bound.args, **bound.kwargs)

    mutant.over = lambda other: changed(other, **changes)  # type: ignore[attr-defined]
    return taking_arguments_of(function)(mutant)


def then(function: Function, change: Callable[[Any], Any]) -> Function:
    """Return the function with its result changed."""

    def mutant(*args: Any, **options: Any) -> Any:
        return change(function(*args, **options))

    mutant.over = lambda other: then(other, change)  # type: ignore[attr-defined]
    return taking_arguments_of(function)(mutant)


def remembering(backward: Function, **residuals: Callable[[Any], Any]) -> Function:
    """Return the backward pass with some residuals replaced, each by a function of all of them."""
    wrong = {"residuals": lambda a: a.residuals._replace(**{name: of(a.residuals) for name, of in residuals.items()})}
    return changed(backward, **wrong)


def rewired(function: Function, **callees: Function) -> Function:
    """Return the function with some of the functions that it calls by name replaced.

    rewired(attention_forward, softmax_and_lse=softmax_without_max)
    """
    original: Any = inspect.unwrap(function)
    unknown = set(callees) - set(original.__code__.co_names)
    if unknown:
        raise ValueError(f"callees: got {sorted(unknown)}; allowed: what {original.__name__} calls by name")
    names = {**original.__globals__, **callees}
    mutant = FunctionType(original.__code__, names, original.__name__, original.__defaults__, original.__closure__)
    mutant.__kwdefaults__ = original.__kwdefaults__
    mutant.over = lambda other: rewired(other, **callees)  # type: ignore[attr-defined]
    return mutant


def over(one: Function | None, other: Function | None) -> Function | None:
    """Make both mistakes in one function; None, where neither changes it, leaves it as it is.

    Raises ValueError for two that cannot be put together: each is a function of its own.
    """
    if one is None or other is None:
        return one or other
    for outer, inner in ((one, other), (other, one)):
        try:
            return outer.over(inner)  # type: ignore[attr-defined]
        except (AttributeError, ValueError):
            continue
    raise ValueError(f"mistakes: got two functions of their own, {one} and {other}; allowed: one")


def taking_arguments_of(function: Function) -> Callable[[Function], Function]:
    """Give a mutant the signature of what it replaces: `ops.run` reads options from there."""

    def sign(mutant: Function) -> Function:
        mutant.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
        return mutant

    return sign


def precision(x: Array) -> int:
    """Return how many significant bits x's arithmetic keeps: the least p with 1 + 2^-p = 1."""
    xp = array_namespace(x)
    one = xp.ones_like(x[(0,) * x.ndim])
    step, bits = one, 0
    while bool(one + step != one):
        step, bits = step / 2, bits + 1
    return bits


def drop_bits(x: Array, dropped: int) -> Array:
    """Round away the last bits of every number.

    c = (2^dropped + 1) x,    result = c - (c - x)

    Source: Veltkamp 1968; Dekker 1971.
    """
    if dropped <= 0:
        return x
    c = x * (2**dropped + 1)
    return c - (c - x)


def round_bits(x: Array, bits: int) -> Array:
    """Round to so many significant bits (8: bfloat16, 11: float16 and TF32), by additions and products only."""
    return drop_bits(x, precision(x) - bits)
