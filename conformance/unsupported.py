"""How an adapter leaves a case to others, where its library has no such option."""

from __future__ import annotations

from typing import Any

from refimpl.check import Unsupported


def require(fits: bool, what: str) -> None:
    """Raise Unsupported unless the library has what a case asks for."""
    if not fits:
        raise Unsupported(what)


def no(**options: Any) -> None:
    """Raise Unsupported for the first option that is given: neither None nor False."""
    for name, value in options.items():
        require(value is None or value is False, name)
