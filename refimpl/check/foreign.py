"""What foreign code may do to the process that calls it: its streams, its interrupts, and what its exceptions say."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from .figures import printable

CHECKER = Path(__file__).parent
STREAMS = ("stdout", "stderr", "__stdout__", "__stderr__")


@contextmanager
def redirected(stream: IO[str]) -> Iterator[None]:
    """Let a stream stand for the standard ones, which foreign code may close."""
    before = {name: getattr(sys, name) for name in STREAMS}
    for name in STREAMS:
        setattr(sys, name, stream)
    try:
        yield
    finally:
        for name, kept in before.items():
            setattr(sys, name, kept)


@contextmanager
def interrupts() -> Iterator[list[int]]:
    """Yield a list that gets each SIGINT that is sent meanwhile; foreign code may raise KeyboardInterrupt without."""
    sent: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield sent
        return

    def note(number: int, frame: Any) -> None:
        sent.append(number)
        before(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield sent
    finally:
        signal.signal(signal.SIGINT, before)


def leave(status: int) -> None:
    """See to it that the process ends with this status, whatever threads and exit handlers foreign code left in it."""
    others = [one for one in threading.enumerate() if one is not threading.main_thread() and not one.daemon]
    if status or others:
        for stream in (sys.stdout, sys.stderr):
            if not stream.closed:
                stream.flush()
        os._exit(status)


def told(error: BaseException) -> str:
    """Return the type and message of an exception, and the line of the implementation that it came from."""
    here = _here()
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).parent != CHECKER]
    frames = [frame for frame in frames if not frame.filename.startswith("<frozen")]
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(here)]
    where = [f" ({_short(frame.filename, here)}:{frame.lineno})" for frame in (ours or frames)[-1:]]
    return f"{type(error).__name__}: {first_line(error)}{''.join(where)}"


def message(error: BaseException) -> str:
    """Return what an exception says."""
    try:
        return printable(error)
    except Exception as other:
        return f"no message: its __str__ raises {type(other).__name__}"


def first_line(error: BaseException) -> str:
    """Return the first line of what an exception says."""
    return (message(error).strip().splitlines() or ["no message"])[0][:300]


def a_(value: Any) -> str:
    """Name the type of a value."""
    return "None" if value is None else f"a {type(value).__name__}"


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError:  # removed
        return CHECKER


def _short(filename: str, here: Path) -> str:
    path = Path(filename)
    return str(path.relative_to(here)) if path.is_relative_to(here) else path.name
