"""The command `refimpl check`: from options to an exit status."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from ..fixtures.canonical import dump
from ..fixtures.read import FixtureError, Pack, read
from ..fixtures.verify import verify
from .cache import cached
from .causes import failures
from .claims import Claims, divide, load_claims, require_in_pack
from .controls import print_controls, run_controls
from .figures import printable
from .junit import junit
from .known import held_to
from .load import EntryError
from .options import Asker, Options, asker, require_usable
from .process import CannotStart
from .progress import progress
from .record import record
from .report import print_report
from .run import Pair, assess_all, pairs
from .verdict import Verdict

PASSED, FAILED, USAGE, INTEGRITY, PROTOCOL = range(5)


class Found(NamedTuple):
    """All verdicts, and what broke the protocol beside them."""

    verdicts: list[Verdict]
    breaches: list[str]


def run_check(options: Options, console: Console | None = None) -> int:
    """Check an implementation, or with `selftest` the checker itself, and return the exit status.

    0 every claimed case passes · 1 a case fails, or none could be compared · 2 usage · 3 fixtures missing, changed,
    empty or fewer than claimed · 4 the implementation broke the protocol, or does not start.
    """
    console, options = console or Console(highlight=False), options.absolute()
    breaches: list[str] = []
    try:
        require_usable(options)
        claims = None if options.claims is None else load_claims(options.claims)
        ask = None if options.selftest else asker(options, breaches.append)
    except (EntryError, ValueError) as error:
        return _end(USAGE, error)
    except CannotStart as error:
        return _end(PROTOCOL, error)
    try:
        pack = open_pack(options.fixtures, options.ops, gradients=not options.forward)
        chosen = pairs(pack.cases, options.profiles)
        if not chosen:
            where = ", ".join(options.ops) or "the pack"
            raise FixtureError(f"{where}: no case in profile {', '.join(options.profiles)}")
        if ask is None:
            return FAILED if print_controls(console, run_controls(chosen)) else PASSED
        if claims and (unmatched := _unmatched(claims, pack, chosen, options.ops)):
            return _end(USAGE, unmatched)
        found = Found(_judge(chosen, ask, claims, options.forward), breaches)
    except FixtureError as error:
        return _end(INTEGRITY, error)
    except CannotStart as error:
        return _end(PROTOCOL, error)
    return _report(found, options, claims, pack, console)


def open_pack(fixtures: Path | str | None, ops: Sequence[str], *, gradients: bool = True) -> Pack:
    """Return the cases of some ops, or all, from a folder or from the user's cache, built there at first use."""
    if fixtures is not None:
        verify(fixtures)
    return read(cached(ops) if fixtures is None else fixtures, ops, gradients=gradients, verified=True)


def status(verdicts: Sequence[Verdict], strict: bool, breaches: Sequence[str] = ()) -> int:
    """Return the exit status that the verdicts deserve."""
    failed = failures(verdicts, strict)
    if breaches or any(v.answer.problems for v in failed):
        return PROTOCOL
    asked = [v for v in verdicts if v.status not in ("unsupported", "not claimed")]
    if asked and all(v.answer.status in ("crash", "hang", "unasked") for v in asked):
        return PROTOCOL
    passed = any(v.status in ("passed", "suspicious") for v in verdicts)
    return PASSED if passed and not failed else FAILED


def _unmatched(claims: Claims, pack: Pack, chosen: Sequence[Pair], ops: Sequence[str]) -> ValueError | None:
    try:
        require_in_pack(claims, pack.ids, chosen, ops)
    except ValueError as error:
        return error
    return None


def _judge(chosen: Sequence[Pair], ask: Asker, claims: Claims | None, forward: bool) -> list[Verdict]:
    """Ask about what is claimed, and return all verdicts in the order of the pairs."""
    claimed, others = divide(claims, chosen) if claims else (list(chosen), [])
    with progress("checking", len(claimed)) as done:
        verdicts = assess_all(claimed, ask(claimed), done=lambda case: done(case.id))
    if claims:
        verdicts = [held_to(claims, v, forward=forward) for v in verdicts]
    place = {(case.id, profile): i for i, (case, profile) in enumerate(chosen)}
    return sorted([*verdicts, *others], key=lambda v: place[v.id, v.profile])


def _report(found: Found, options: Options, claims: Claims | None, pack: Pack, console: Console) -> int:
    """Print, write, and return the exit status."""
    verdicts, breaches = found
    said = f", as {claims.name} claims" if claims else ""
    said += ", outputs only" if options.forward else ""
    title = f"{printable(options.title)} against fixtures {pack.manifest['version']}{said}"
    print_report(console, verdicts, title=title, strict=options.strict, breaches=breaches)
    result = status(verdicts, options.strict, breaches)
    if options.json is not None:
        known = {"forward": options.forward, "strict": options.strict, "claims": claims.name if claims else None}
        whole = record(
            verdicts,
            entry=printable(options.title),
            manifest=pack.manifest,
            options=known,
            status=result,
            breaches=breaches,
        )
        Path(options.json).write_bytes(dump(whole))
    if options.junit is not None:
        Path(options.junit).write_bytes(junit(verdicts, title=title, strict=options.strict, breaches=breaches))
    return result


def _end(status: int, error: Exception) -> int:
    Console(stderr=True, highlight=False).print(Text(printable(f"refimpl check: {error}")), soft_wrap=True)
    return status
