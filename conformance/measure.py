"""One framework on the cases that it claims, each held against what its claims say."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from refimpl.check.claims import Claims, divide, load_claims
from refimpl.check.command import open_pack
from refimpl.check.diagnose import CONVENTION
from refimpl.check.known import held_to, known_failures, right_results
from refimpl.check.run import Pair, judge_all
from refimpl.check.verdict import Verdict
from refimpl.fixtures.read import Pack

FOLDER = Path(__file__).parent / "claims"
SLOW = {"jax": 9, "flax": 3, "equinox": 3, "tinygrad": 7}  # compile a program a case; the tests take one in so many
PASSED, SUSPICIOUS, OTHER, FAILED = "passed", "suspicious", "other convention", "failed"


class Result(NamedTuple):
    """What is said of one claimed case in one profile."""

    id: str
    op: str
    profile: str
    status: str
    budget: float  # the worst of the results that are within tolerance; NaN where none is
    honest: float  # the same, in errors of an honest run
    failing: tuple[str, ...] = ()
    mistake: str = ""  # of the registry, the one that the failing results match
    reason: str = ""  # of the known failure
    seen: str = ""
    surprise: str = ""  # where it is not what the claims say


def fixtures(folder: Path | None = None) -> Pack:
    """Open a pack: the one in this folder, else the one that REFIMPL_FIXTURES names, else that of the user's cache."""
    return open_pack(folder or os.environ.get("REFIMPL_FIXTURES"), [])


def frameworks() -> list[str]:
    """Return the names of all adapters that have claims."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def claims_of(framework: str) -> Claims:
    return load_claims(FOLDER / f"{framework}.json")


def named(framework: str) -> tuple[str, str]:
    """Return the name and the version of what a framework's claims are about."""
    found = json.loads((FOLDER / f"{framework}.json").read_text("utf-8"))["implementation"]
    return found["name"], found.get("version", "")


def measure(
    adapter: Any, claims: Claims, chosen: Sequence[Pair], started: Callable[[int], None], done: Callable[[], None]
) -> list[Result]:
    """Judge the claimed pairs; `started` hears how many they are, `done` of each one finished."""
    pairs, _ = divide(claims, chosen)
    started(len(pairs))
    verdicts = judge_all(pairs, adapter.run, done=lambda case: done())
    return [result(claims, v) for v in verdicts]


def result(claims: Claims, verdict: Verdict) -> Result:
    """Hold a verdict against the claims."""
    v, failing = held_to(claims, verdict), tuple(verdict.failing)
    right = [found for found in v.outputs.values() if found.ok]
    budget = max((found.budget for found in right), default=math.nan)
    honest = max((found.honest for found in right), default=math.nan)
    status, mistake = v.status, v.diagnosis.mistakes[0] if v.diagnosis and v.diagnosis.mistakes else ""
    if status not in (PASSED, SUSPICIOUS):
        status = OTHER if mistake and v.diagnosis and v.diagnosis.verdict == CONVENTION else FAILED
    entries = known_failures(claims, v)
    explaining = [known for known in entries if set(known.get("results", failing)) & set(failing)]
    known = next(iter(explaining or entries), {})
    reason, seen = known.get("reason", ""), known.get("seen", "")
    said = surprise(v, {name for known in entries for name in right_results(known, v)})
    return Result(v.id, v.op, v.profile, status, budget, honest, failing, mistake, reason, seen, said)


def surprise(v: Verdict, passing: set[str]) -> str:
    """Say what the claims do not. Each result that is known to fail must; passing: those that do not."""
    if passing:
        return f"known to fail, yet passes: {', '.join(sorted(passing))}"
    if v.status != FAILED:
        return ""
    wrong = (f"{name} {found.reason}, budget {found.budget:.3g}" for name, found in v.failing.items())
    return "; ".join([v.answer.detail, *v.answer.problems, *wrong, v.claim]).strip("; ")
