"""What every process that the checker starts needs: to find this package, and to end with the checker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parents[1]


def package_environment() -> dict[str, str]:
    """Return the environment in which a Python process finds this package."""
    path = os.pathsep.join([str(PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    return os.environ | {"PYTHONPATH": path}


@contextmanager
def terminable() -> Iterator[None]:
    """Turn SIGTERM into SystemExit, so that what was started is ended on the way out; only in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def started(command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    """Start a process; a SIGTERM that comes before it runs is put off until it does, and ends it, too."""
    if threading.current_thread() is not threading.main_thread():
        return subprocess.Popen(command, **options)
    received: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: received.append(number))
    try:
        process = subprocess.Popen(command, **options)
    finally:
        signal.signal(signal.SIGTERM, before)
    if received:
        process.kill()
        process.wait()
        signal.raise_signal(signal.SIGTERM)
    return process


def _leave(number: int, frame: object) -> None:
    sys.exit(128 + number)
