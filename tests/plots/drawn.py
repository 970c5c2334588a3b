"""Every figure, drawn once."""

from functools import cache
from typing import Any

from plots.gallery import Entry, entry


@cache
def drawn(name: str) -> tuple[Entry, Any]:
    """Return what a script says, and its figure."""
    item = entry(name)
    return item, item.figure()
