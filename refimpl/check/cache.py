"""Fixtures for those who name none: built once, kept in the user's cache directory."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import platformdirs

from ..fixtures.read import FixtureError
from ..fixtures.verify import verify
from .process import PACKAGE, package_environment


def cached(ops: Sequence[str] = ()) -> Path:
    """Return a folder with the fixtures of some ops, or of all; build it where it is missing or damaged.

    The folder is named after the source that decides its bytes, so a changed case is never served from an old build. A
    build is put in place at once: an interrupted one leaves nothing behind.
    """
    root = Path(platformdirs.user_cache_dir("refimpl", appauthor=False)) / source_digest()[:16]
    some = root / ("+".join(sorted(set(ops))) or "all")
    for folder in (root / "all", some):
        if _whole(folder):
            return folder
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


def _whole(folder: Path) -> bool:
    if not folder.exists():
        return False
    try:
        verify(folder)
    except FixtureError:
        return False
    return True


def _build(folder: Path, ops: Sequence[str]) -> None:
    """Build in a process of its own: the workers of a build import the main script, which may not be made for that."""
    command = [sys.executable, "-m", "refimpl", "build", "--out", str(folder)]
    command += [word for op in ops for word in ("--op", op)]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, env=package_environment(), check=False)
    if done.returncode:
        raise FixtureError(f"{folder}: not built, `refimpl build` ended with status {done.returncode}")
