"""Why cases failed: failures of one op that have one cause are told together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..fixtures.conventions import CONVENTIONS
from ..mistakes import MISTAKES
from ..mistakes.issues import link
from .compare import SUSPICIOUS
from .diagnose import CONVENTION
from .verdict import Verdict


class Cause(NamedTuple):
    """What a group of failures is called, and what is known of it: (label, text) lines."""

    name: str
    remark: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    known: bool = False  # a mistake or a convention of the registry


def failures(verdicts: Sequence[Verdict], strict: bool) -> list[Verdict]:
    """Return what failed; with `strict` a suspicious case did."""
    return [v for v in verdicts if v.status == "failed" or (strict and v.status == "suspicious")]


def cause(v: Verdict) -> Cause:
    """Return why a case failed."""
    if v.claim:
        return Cause("a known failure passes", v.claim)
    if v.answer.status == "unsupported":
        return Cause("claimed, but unsupported", v.answer.detail)
    if v.answer.status in ("error", "rejected"):
        return Cause("exception", v.answer.detail)
    if v.answer.status == "unasked":
        return Cause("not run", v.answer.detail)
    if v.answer.status in ("crash", "hang"):
        return Cause(v.answer.status, v.answer.detail)
    if v.answer.problems:
        return Cause("protocol broken", "; ".join(v.answer.problems))
    if v.diagnosis and v.diagnosis.beside:
        return _compound(v.diagnosis.mistakes[0], v.diagnosis.beside)
    if v.diagnosis and v.diagnosis.mistakes:
        return _known(v.diagnosis.mistakes[0], v.diagnosis.verdict)
    if v.diagnosis:
        return Cause(_unknown(v))
    if v.status == "suspicious":
        return Cause("suspicious", f"within tolerance, but over {SUSPICIOUS} × as far off as an honest run")
    return Cause("wrong dtype")


def by_cause(failed: Sequence[Verdict]) -> dict[Cause, list[Verdict]]:
    """Group failures by cause: known ones first, then the most frequent."""
    groups: dict[Cause, list[Verdict]] = {}
    for v in failed:
        groups.setdefault(cause(v), []).append(v)
    return dict(sorted(groups.items(), key=lambda item: (not item[0].known, -len(item[1]))))


def _unknown(v: Verdict) -> str:
    """Name a difference that no mistake explains by what can be seen at once."""
    wrong = [found for found in v.outputs.values() if found.off]
    if any(found.at is None and found.reason.startswith("shape") for found in wrong):
        return "wrong shape"
    return "NaN" if any(found.reason.endswith("NaN") for found in wrong) else "unknown difference"


def _compound(id: str, beside: str) -> Cause:
    """Tell of two mistakes, or of one under another convention."""
    one, other = _known(id, ""), _known(beside, "")
    how = "under another convention" if MISTAKES[beside].convention else "two mistakes at once"
    facts = [
        (f"{label}", f"{text} ({name})") for name, cause in ((id, one), (beside, other)) for label, text in cause.facts
    ]
    return Cause(f"{id} + {beside}", how, tuple(facts), True)


def _known(id: str, verdict: str) -> Cause:
    mistake = MISTAKES[id]
    wrong, _, right = mistake.description.partition(" → ")
    facts = [("yours", wrong), ("right", right), ("effect", mistake.effect)]
    convention = CONVENTIONS.get(mistake.convention or "")
    if verdict == CONVENTION and convention:
        facts.append(("here", f"{mistake.convention}: {convention.definition}"))
        facts.append(("convert", convention.converter))
    facts.append(("seen", ", ".join(link(issue) for issue in mistake.seen)))
    return Cause(id, verdict if verdict == CONVENTION else "", tuple(fact for fact in facts if fact[1]), True)
