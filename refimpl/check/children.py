"""What every process that the checker starts needs: to find this package, and to end with the checker."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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


def _leave(number: int, frame: object) -> None:
    sys.exit(128 + number)
