"""What a program may use, and the part of it that the system sees to."""

from __future__ import annotations

import sys
from typing import NamedTuple

if sys.platform != "win32":
    import resource


class Limits(NamedTuple):
    """What a program may use."""

    seconds: float = 60.0  # without a new line or file, the start of the program included
    file_bytes: int = 256 << 20
    folder_bytes: int = 1 << 30
    memory_bytes: int | None = None  # of each process


def set_limits(limits: Limits) -> None:
    """Set the limits of this process, just before it becomes the program."""
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_FSIZE, limits.file_bytes)
    if limits.memory_bytes is not None:
        _lower(resource.RLIMIT_DATA, limits.memory_bytes)


def _lower(kind: int, most: int) -> None:
    hard = resource.getrlimit(kind)[1]
    resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
