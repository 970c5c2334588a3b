"""The command `refimpl check`: from arguments to an exit status."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from ..errors import require, require_one_of
from ..exact.profiles import PROFILES
from ..fixtures.canonical import dump
from ..fixtures.read import FixtureError, Pack, read
from ..fixtures.verify import verify
from ..ops import OPS
from .cache import cached
from .causes import failures
from .controls import print_controls, run_controls
from .entry import EntryError, Implementation, load
from .progress import progress
from .record import record
from .report import print_report
from .run import Pair, judge_all, pairs
from .verdict import Verdict

PASSED, FAILED, USAGE, INTEGRITY, PROTOCOL = range(5)


class Run(NamedTuple):
    """What is checked, against what, and how."""

    entry: str
    implementation: Implementation
    pack: Pack
    chosen: list[Pair]
    forward: bool
    strict: bool


def run_check(
    entry: str | None,
    *,
    fixtures: Path | str | None = None,
    ops: Sequence[str] = (),
    profiles: Sequence[str] = (),
    forward: bool = False,
    strict: bool = False,
    json_path: Path | str | None = None,
    selftest: bool = False,
    console: Console | None = None,
) -> int:
    """Check an implementation, or with `selftest` the checker itself, and return the exit status.

    With `forward` only outputs are asked for, no gradients.

    0 every case passes · 1 a case fails, or none could be compared · 2 usage · 3 fixtures missing, changed or empty ·
    4 no answer kept to the protocol.
    """
    console = console or Console(highlight=False)
    try:
        implementation = _usable(entry, ops, profiles, json_path, selftest)
    except (EntryError, ValueError) as error:
        return _end(USAGE, error)
    try:
        pack = open_pack(fixtures, ops, gradients=not forward)
        chosen = pairs(pack.cases, profiles)
        if not chosen:
            raise FixtureError(f"{', '.join(ops) or 'the pack'}: no case in profile {', '.join(profiles)}")
        if implementation is None:
            return FAILED if print_controls(console, run_controls(chosen)) else PASSED
        return _report(Run(entry or "", implementation, pack, chosen, forward, strict), json_path, console)
    except FixtureError as error:
        return _end(INTEGRITY, error)


def open_pack(fixtures: Path | str | None, ops: Sequence[str], *, gradients: bool = True) -> Pack:
    """Return the cases of some ops, or all, from a folder or from the user's cache, built there at first use."""
    if fixtures is not None:
        verify(fixtures)
    return read(cached(ops) if fixtures is None else fixtures, ops, gradients=gradients)


def status(verdicts: Sequence[Verdict], strict: bool) -> int:
    """Return the exit status that the verdicts deserve."""
    asked = [v for v in verdicts if v.status != "unsupported"]
    if asked and all(v.answer.problems for v in asked):
        return PROTOCOL
    return PASSED if asked and not failures(verdicts, strict) else FAILED


def _report(run: Run, json_path: Path | str | None, console: Console) -> int:
    """Judge, print, write, and return the exit status."""
    with progress("checking", len(run.chosen)) as done:
        verdicts = judge_all(run.chosen, run.implementation, done=lambda case: done(case.id))
    manifest = run.pack.manifest
    title = f"{run.entry} against fixtures {manifest['version']}" + (", outputs only" if run.forward else "")
    print_report(console, verdicts, title=title, strict=run.strict)
    result = status(verdicts, run.strict)
    if json_path is not None:
        options = {"forward": run.forward, "strict": run.strict}
        found = record(verdicts, entry=run.entry, manifest=manifest, options=options, status=result)
        Path(json_path).write_bytes(dump(found))
    return result


def _usable(
    entry: str | None, ops: Sequence[str], profiles: Sequence[str], json_path: Path | str | None, selftest: bool
) -> Implementation | None:
    """Look at everything that the user gave before any work begins."""
    for op in ops:
        require_one_of("--op", op, list(OPS))
    for profile in profiles:
        require_one_of("--profile", profile, list(PROFILES))
    if json_path is not None:
        folder = Path(json_path).resolve().parent
        require(
            folder.is_dir(), "--json", f"{json_path}: there is no folder {folder}", "a file in a folder that exists"
        )
        require(not Path(json_path).is_dir(), "--json", f"the folder {json_path}", "a file")
    if selftest:
        return None
    require(entry is not None, "--entry", "nothing", "package.module:function")
    return load(entry or "")


def _end(status: int, error: Exception) -> int:
    Console(stderr=True, highlight=False).print(Text(f"refimpl check: {error}"), soft_wrap=True)
    return status
