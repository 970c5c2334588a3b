"""The report in JSON: everything the terminal shows, and everything it leaves out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..mistakes import MISTAKES, Mistake
from ..mistakes.issues import link
from .causes import cause
from .compare import Comparison
from .tally import tallies
from .verdict import Verdict

FORMAT = 1


def record(
    verdicts: Sequence[Verdict],
    *,
    entry: str,
    manifest: Mapping[str, Any],
    options: Mapping[str, Any],
    status: int,
    breaches: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the report of a run, as refimpl/check/schema/report.json says.

    Numbers that JSON lacks are strings: "nan", "inf", "-inf".
    """
    found = {
        "format": FORMAT,
        "entry": entry,
        "fixtures": {key: manifest[key] for key in ("suite", "version", "tree_sha256")},
        "options": dict(options),
        "exit_status": status,
        "protocol_breaches": list(breaches),
        "table": [line._asdict() for line in tallies(verdicts, options["strict"])],
        "verdicts": [_verdict(v) for v in verdicts],
    }
    return _finite(found)


def _verdict(v: Verdict) -> dict[str, Any]:
    found: dict[str, Any] = {
        "id": v.id,
        "op": v.op,
        "profile": v.profile,
        "status": v.status,
        "comment": v.comment,
        "answer": v.answer.status,
        "outputs": {name: _comparison(comparison) for name, comparison in v.outputs.items()},
    }
    if v.status == "failed":
        found["cause"] = cause(v).name
    if v.claim:
        found["claim"] = v.claim
    if v.answer.detail:
        found["detail"] = v.answer.detail
    if v.answer.problems:
        found["problems"] = list(v.answer.problems)
    if v.answer.printed and v.status == "failed":
        found["printed"] = v.answer.printed
    if v.diagnosis:
        ids = (*v.diagnosis.mistakes, *filter(None, [v.diagnosis.beside]))
        mistakes = {id: _mistake(MISTAKES[id]) for id in ids}
        found["diagnosis"] = {"verdict": v.diagnosis.verdict, "mistakes": mistakes, "hints": list(v.diagnosis.hints)}
        if v.diagnosis.beside:
            found["diagnosis"]["beside"] = v.diagnosis.beside
    return found


def _mistake(known: Mistake) -> dict[str, Any]:
    return {"description": known.description, "seen": [link(issue) for issue in known.seen]}


def _comparison(found: Comparison) -> dict[str, Any]:
    fields = found._asdict() | {"suspicious": found.suspicious}
    return fields | {"at": None if found.at is None else list(found.at)}


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
