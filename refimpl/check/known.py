"""A verdict held to what a claims file says: a known failure excuses it, and must not pass."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

from ..exact.profiles import PROFILES
from .claims import Claims
from .verdict import Verdict


def held_to(claims: Claims, verdict: Verdict, *, forward: bool = False) -> Verdict:
    """Return the verdict in the light of the claims. forward: gradients, which may be what fails, were not asked for.

    Entries that match one case count together. A breach of the protocol, or a case not run, is no known failure.
    """
    v = verdict._replace(status="failed") if verdict.status == "unsupported" else verdict
    entries = known_failures(claims, v)
    whole = [known for known in entries if "results" not in known]
    if not entries or v.answer.problems or v.answer.status == "unasked":
        return v
    if v.answer.status != "ok":
        return v._replace(status="known failure", claim=_said(whole)) if whole else v
    if not whole and v.failing.keys() - {name for known in entries for name in known["results"]}:
        return v
    passing = [known for known in entries if right_results(known, v) and not (forward and known in whole)]
    if passing:
        return v._replace(status="failed", claim=_said(passing))
    return v._replace(status="known failure", claim=_said(entries)) if v.failing else v


def known_failures(claims: Claims, v: Verdict) -> list[dict[str, Any]]:
    """Return the entries that match a case in a profile."""
    matching = (known for known in claims.known if fnmatchcase(v.id, known["cases"]))
    return [known for known in matching if v.profile in known.get("profiles", PROFILES)]


def right_results(known: dict[str, Any], v: Verdict) -> list[str]:
    """Return what an entry says to fail, was asked for, and is right; without `results` all must be to count."""
    names = known.get("results", [] if v.failing else v.outputs)
    return [name for name in names if name in v.outputs and v.outputs[name].ok]


def _said(entries: Sequence[dict[str, Any]]) -> str:
    return "; ".join(known["reason"] + (f" ({known['seen']})" if "seen" in known else "") for known in entries)
