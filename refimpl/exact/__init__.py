"""Arithmetic for proofs: exact values, tolerances and honest errors from the source of an op.

    prove(compute)              the exact real results, each rounded once to float64
    bound(compute, "f32", want) how far any float32 evaluation may lie from them
    nearest(compute, "f32")     what a plain float32 evaluation gives

`compute(xp)` returns named arrays; `xp` is one of the three namespaces Exact, Bound, Nearest.
Names are imported at first use: `refimpl.exact.profiles` alone does not need python-flint.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .array import Array as Array
    from .balls import Exact as Exact
    from .balls import Undecided as Undecided
    from .bounds import Bound as Bound
    from .evaluate import Unresolved as Unresolved
    from .evaluate import bound as bound
    from .evaluate import nearest as nearest
    from .evaluate import prove as prove
    from .floats import Nearest as Nearest
    from .profiles import PROFILES as PROFILES
    from .rounding import round_ball as round_ball

_HOME = {
    "Array": "array",
    "Bound": "bounds",
    "Exact": "balls",
    "Nearest": "floats",
    "PROFILES": "profiles",
    "Undecided": "balls",
    "Unresolved": "evaluate",
    "bound": "evaluate",
    "nearest": "evaluate",
    "prove": "evaluate",
    "round_ball": "rounding",
}
__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOME[name]}", __name__), name)
