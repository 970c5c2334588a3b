"""Run a foreign program within limits: of time, of what it writes, of what it prints, of memory."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

from .children import package_environment, started, terminable
from .figures import plural, printable, size
from .limits import Limits, launcher

PRINTED = 2000  # bytes kept of what a program prints
POLL = 0.05  # seconds


class Ended(NamedTuple):
    """How a program ended."""

    status: str  # "done", "crash", "hang"
    detail: str = ""
    printed: str = ""


class CannotStart(Exception):
    """The program is not there, or the system does not run it."""


def run(command: Sequence[str], out: Path | None, cases: int, limits: Limits) -> Ended:
    """Run a program that writes into `out` until it ends, stalls, or writes too much; all its processes end with it.

    Raises CannotStart.
    """
    process = _start(command, limits)
    tail = _Tail(process.stdout)
    try:
        with terminable():
            status, detail = _watch(process, out, cases, limits)
    finally:
        _end(process)
    return Ended(status, detail, tail.text())


def _start(command: Sequence[str], limits: Limits) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own; where the system has limits, by way of the launcher that sets them."""
    reader, writer = os.pipe()
    posix = os.name == "posix"
    try:
        process = started(
            [*launcher(limits, writer), *command] if posix else command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=package_environment(),
            pass_fds=(writer,) if posix else (),
        )
        os.close(writer)
        reason = os.read(reader, PRINTED).decode()  # nothing once the launcher is the program
    except (OSError, ValueError) as error:
        os.close(writer)
        raise CannotStart(f"{command[0]} cannot be started: {error}") from error
    finally:
        os.close(reader)
    if reason:
        process.communicate()
        raise CannotStart(f"{command[0]} cannot be started: {reason}")
    return process


def _watch(process: subprocess.Popen[bytes], out: Path | None, cases: int, limits: Limits) -> tuple[str, str]:
    """Wait, and return what ended it: itself, or one of the limits."""
    start = heard = time.monotonic()
    seen = (0, 0)
    while True:
        try:
            return _told(process.wait(POLL), limits)
        except subprocess.TimeoutExpired:
            pass
        now = time.monotonic()
        *progress, used = _content(out) if out else (0, 0, 0)
        if used > limits.folder_bytes:
            return "crash", f"wrote {size(used)} into OUT, where {size(limits.folder_bytes)} are allowed: stopped"
        if tuple(progress) != seen:
            seen, heard = (progress[0], progress[1]), now
        if now - heard > limits.seconds:
            return "hang", f"said nothing for {limits.seconds:g} s: stopped"
        if now - start > limits.seconds * (cases + 1):
            return "hang", f"{plural(cases, 'case')} not done in {limits.seconds * (cases + 1):g} s: stopped"


def _content(out: Path) -> tuple[int, int, int]:
    """Return how many entries a folder has, how long its results.jsonl is, and the bytes of all files."""
    entries = lines = used = 0
    try:
        for entry in os.scandir(out):
            bytes = entry.stat(follow_symlinks=False).st_size
            entries, used = entries + 1, used + bytes
            lines = bytes if entry.name == "results.jsonl" else lines
    except OSError:  # moved or removed: what is read later says so
        pass
    return entries, lines, used


def _told(code: int, limits: Limits) -> tuple[str, str]:
    if code == 0:
        return "done", ""
    if code > 0:
        return "crash", f"ended with status {code}"
    name = next((sent.name for sent in signal.Signals if sent == -code), "unknown")
    why = f": a file of more than {size(limits.file_bytes)}" if name == "SIGXFSZ" else ""
    return "crash", f"ended by signal {-code} ({name}){why}"


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the program, and what it started and left behind."""
    if os.name == "posix":
        with suppress(ProcessLookupError, PermissionError):  # all gone; macOS says the second of zombies
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()


class _Tail:
    """The end of what a program prints, read while it runs so that it never waits for a reader."""

    def __init__(self, stream: IO[Any] | None) -> None:
        self._kept = b""
        self._thread = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self._thread.start()

    def _read(self, stream: IO[Any]) -> None:
        with stream:
            while data := os.read(stream.fileno(), 1 << 16):
                self._kept = (self._kept + data)[-PRINTED:]

    def text(self) -> str:
        self._thread.join(1.0)  # a process that left the group may hold the pipe open for ever
        return printable(self._kept.decode(errors="replace").strip())
