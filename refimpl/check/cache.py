"""Fixtures for those who name none: built once, kept in the user's cache directory."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import platformdirs

from ..fixtures.read import FixtureError
from ..fixtures.verify import verify
from .children import PACKAGE, package_environment, started, terminable

if sys.platform != "win32":
    import fcntl

UNUSED = 30 * 24 * 3600.0  # seconds, after which the builds of another source are removed


def cached(ops: Sequence[str] = ()) -> Path:
    """Return a folder with the fixtures of some ops, or of all; build it where it is missing or damaged.

    The folder is named after the source that decides its bytes, so a changed case is never served from an old build. A
    build is put in place at once: an interrupted one leaves nothing behind. Of two processes one builds.
    """
    cache = Path(platformdirs.user_cache_dir("refimpl", appauthor=False))
    root = cache / source_digest()[:16]
    some = root / ("+".join(sorted(set(ops))) or "all")
    if found := _found(root, some):
        return found
    with _locked(cache):
        if found := _found(root, some):  # built while this process waited
            return found
        _remove_unused(cache)
        shutil.rmtree(some, ignore_errors=True)
        _build(some, ops)
    return some


def source_digest() -> str:
    """Return the SHA-256 of all source and data files of the package that fixtures are made from."""
    total = hashlib.sha256()
    for path in sorted(path for path in PACKAGE.rglob("*") if path.suffix in (".py", ".json", ".txt")):
        name = path.relative_to(PACKAGE)
        if name.parts[0] != "check":
            total.update(f"{name.as_posix()}\n".encode() + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def _found(root: Path, some: Path) -> Path | None:
    """Return the whole pack, or the one that is looked for, where it is whole; note that its source is in use."""
    for folder in (root / "all", some):
        if _whole(folder):
            os.utime(root)
            return folder
    return None


def _whole(folder: Path) -> bool:
    if not folder.exists():
        return False
    try:
        verify(folder)
    except FixtureError:
        return False
    return True


@contextmanager
def _locked(cache: Path) -> Iterator[None]:
    """Let one process in at a time; the system lifts the lock when it ends, however it ends."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("ab") as file:
        if sys.platform != "win32":
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                _say("waiting for another process that builds fixtures")
                fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _remove_unused(cache: Path) -> None:
    """Remove what was built from other sources and not used for long."""
    for folder in cache.iterdir():
        if folder.is_dir() and time.time() - folder.stat().st_mtime > UNUSED:
            shutil.rmtree(folder, ignore_errors=True)


def _build(folder: Path, ops: Sequence[str]) -> None:
    """Build in a process of its own: the workers of a build import the main script, which may not be made for that."""
    command = [sys.executable, "-m", "refimpl", "build", "--out", str(folder)]
    command += [word for op in ops for word in ("--op", op)]
    if not sys.stderr.isatty():  # else the build shows a bar
        _say(f"building the fixtures of {', '.join(ops) or 'all ops'}, once, into {folder}")
    with terminable(), started(command, stdout=subprocess.DEVNULL, env=package_environment()) as process:
        try:
            status = process.wait()
        except BaseException:
            process.kill()
            raise
    if status:
        raise FixtureError(f"{folder}: not built, `refimpl build` ended with status {status}")


def _say(line: str) -> None:
    sys.stderr.write(f"refimpl: {line}\n")
    sys.stderr.flush()
