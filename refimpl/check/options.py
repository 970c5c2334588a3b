"""What the user gave, looked at before any work begins."""

from __future__ import annotations

import math
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ..errors import require, require_one_of
from ..exact.profiles import PROFILES
from ..ops import OPS
from .entry import Answer
from .isolated import Command, answers
from .limits import Limits
from .load import EntryError, load
from .process import CannotStart, run
from .run import Pair, asked

Asker = Callable[[Sequence[Pair]], Iterator[tuple[Pair, Answer]]]


class Options(NamedTuple):
    """The options of `refimpl check`, as they came."""

    entry: str | None = None
    command: Sequence[str] = ()
    fixtures: Path | str | None = None
    ops: Sequence[str] = ()
    profiles: Sequence[str] = ()
    forward: bool = False
    strict: bool = False
    timeout: float | None = None  # seconds a case
    memory: float | None = None  # GiB a process
    claims: Path | str | None = None
    json: Path | str | None = None
    junit: Path | str | None = None
    selftest: bool = False

    @property
    def title(self) -> str:
        """What is checked, in one word or line."""
        return self.entry or " ".join(self.command)

    def absolute(self) -> Options:
        """Return the same with absolute paths: an entry may change the working directory."""
        fixtures, claims, json, junit = (
            None if path is None else Path(path).absolute()
            for path in (self.fixtures, self.claims, self.json, self.junit)
        )
        return self._replace(fixtures=fixtures, claims=claims, json=json, junit=junit)


def require_usable(options: Options) -> None:
    """Raise ValueError for what can be seen to be wrong with the options alone."""
    for op in options.ops:
        require_one_of("--op", op, list(OPS))
    for profile in options.profiles:
        require_one_of("--profile", profile, list(PROFILES))
    for name, value in (("--timeout", options.timeout), ("--memory", options.memory)):
        require(value is None or 0 < value < math.inf, name, value, "a number above 0")
    for name, path in (("--json", options.json), ("--junit", options.junit)):
        if path is not None:
            _require_writable(name, Path(path))
    given = [name for name, value in (("--entry", options.entry), ("a command", options.command)) if value]
    if not options.selftest:
        allowed = "--entry package.module:function, or -- COMMAND ARG ..."
        require(len(given) == 1, "--entry", " and ".join(given) or "nothing", allowed)


def asker(options: Options, breach: Callable[[str], None]) -> Asker:
    """Return how to ask the implementation: in this process, or where a limit is set in one of its own.

    `breach` hears what a command does wrong with no case in particular. Raises EntryError, CannotStart.
    """
    limits = Limits(
        Limits().seconds if options.timeout is None else options.timeout,
        memory_bytes=None if options.memory is None else int(options.memory * (1 << 30)),
    )
    if options.command:
        if shutil.which(options.command[0]) is None:
            raise CannotStart(f"{options.command[0]} cannot be started: there is no such program")
        return partial(answers, command=Command(options.command, limits, breach))
    entry = options.entry or ""
    if options.timeout is None and options.memory is None:
        return partial(asked, implementation=load(entry))
    words = [sys.executable, "-m", "refimpl.check.worker", entry]
    _require_loadable(words, limits)
    return partial(answers, command=Command(words, limits, breach))


def _require_loadable(words: Sequence[str], limits: Limits) -> None:
    """Load an entry in a process of its own, to tell what is wrong with it from what is wrong with its answers."""
    ended = run(words, None, 1, limits)
    if ended.status != "done":
        raise EntryError(ended.printed or f"{words[-1]}: while it was loaded, the process {ended.detail}")


def _require_writable(option: str, path: Path) -> None:
    """Open a report for writing, as it will be, without changing it."""
    new = not path.exists()
    try:
        path.open("ab").close()
    except OSError as error:
        raise ValueError(f"{option}: {path} cannot be written: {error.strerror}") from None
    if new:
        path.unlink()
