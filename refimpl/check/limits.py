"""What a program may use, and the part of it that the system sees to: run as a script, this file becomes the program.

A function run between fork and exec would do the same, but not in a process with threads, as JAX has.
"""

from __future__ import annotations

import os
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


def launcher(limits: Limits, report: int) -> list[str]:
    """Return the command that runs the command after it within limits; why that cannot start is written to `report`."""
    return [sys.executable, "-I", "-S", __file__, str(report), str(limits.file_bytes), str(limits.memory_bytes or 0)]


def launch(report: int, file_bytes: int, memory_bytes: int, command: list[str]) -> None:
    """Set the limits of this process, and become the program."""
    os.set_inheritable(report, False)
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_FSIZE, file_bytes)
    if memory_bytes:
        _lower(resource.RLIMIT_DATA, memory_bytes)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        os.write(report, (error.strerror or str(error)).encode())


def _lower(kind: int, most: int) -> None:
    hard = resource.getrlimit(kind)[1]
    resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


if __name__ == "__main__":
    launch(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
