"""What an implementation says that it does, in a file of its own repository: refimpl/check/schema/claims.json.

What is not claimed is not asked about. A claimed case that comes back as unsupported fails, and so does a known failure
that passes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import require, require_one_of
from ..fixtures import canonical
from ..fixtures.conventions import CONVENTIONS
from ..fixtures.read import FixtureError, LoadedCase
from ..ops import OPS
from .entry import Answer
from .exchange import PACKAGE, unique
from .figures import printable
from .run import Pair
from .verdict import Verdict


class Claims(NamedTuple):
    """A claims file: its fields as the schema says."""

    name: str
    ops: dict[str, dict[str, Any]]
    known: list[dict[str, Any]]


def load_claims(path: Path | str) -> Claims:
    """Read a claims file; ValueError says what in it is unknown."""
    try:
        found = _printable(json.loads(Path(path).read_bytes(), object_pairs_hook=unique))
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"--claims: {path}: {error}") from None
    if wrong := canonical.validate("claims", found, PACKAGE):
        raise ValueError(f"--claims: {path}: {wrong}")
    claims = Claims(
        " ".join(found["implementation"][key] for key in ("name", "version") if key in found["implementation"]),
        found["ops"],
        found.get("known_failures", []),
    )
    _require_known_names(claims)
    return claims


def require_in_pack(claims: Claims, ids: Sequence[str], chosen: Sequence[Pair], ops: Sequence[str]) -> None:
    """Raise ValueError for a pattern that matches none of a pack's cases, FixtureError for a claimed op without one.

    A pattern for ops that the pack lacks is passed over: a pack of some ops may be looked at alone.
    """
    held = {id.partition("/")[0] for id in ids}
    for where, pattern in _patterns(claims):
        asked = any(fnmatchcase(op, pattern.partition("/")[0]) for op in held)
        require(not asked or any(fnmatchcase(id, pattern) for id in ids), where, repr(pattern), "a pattern of case ids")
    for op in claims.ops:
        if (not ops or op in ops) and not any(case.op == op for case, _ in chosen):
            raise FixtureError(f"claims: {op} is claimed, but no case of it is here")


def divide(claims: Claims, chosen: Sequence[Pair]) -> tuple[list[Pair], list[Verdict]]:
    """Return the claimed pairs, each asking for claimed gradients alone, and verdicts on all others."""
    claimed, others = [], []
    narrowed: dict[str, LoadedCase] = {}
    for case, profile in chosen:
        reason = _unclaimed(claims, case, profile)
        if reason is None:
            if case.id not in narrowed:
                narrowed[case.id] = _narrowed(case, claims.ops[case.op]["gradients"])
            claimed.append((narrowed[case.id], profile))
        else:
            comment = case.description["comment"]
            others.append(
                Verdict(case.id, case.op, profile, comment, "not claimed", Answer("unasked"), {}, claim=reason)
            )
    return claimed, others


def _unclaimed(claims: Claims, case: LoadedCase, profile: str) -> str | None:
    """Return why a pair is not claimed, None where it is."""
    claim = claims.ops.get(case.op)
    if claim is None:
        return f"{case.op} is not claimed"
    if profile not in claim["profiles"]:
        return f"{case.op} is not claimed in {profile}"
    if claim["conventions"] is not None:
        others = [id for id in case.description["conventions"] if id not in claim["conventions"]]
        if others:
            return f"{', '.join(others)} not claimed"
    return next((said["reason"] for said in claim.get("except", []) if fnmatchcase(case.id, said["cases"])), None)


def _narrowed(case: LoadedCase, gradients: bool | list[str]) -> LoadedCase:
    return case if gradients is True else case.asking(gradients or [])


def _patterns(claims: Claims) -> Iterator[tuple[str, str]]:
    for op, claim in claims.ops.items():
        yield from ((f"--claims: ops/{op}/except", said["cases"]) for said in claim.get("except", []))
    yield from (("--claims: known_failures", known["cases"]) for known in claims.known)


def _require_known_names(claims: Claims) -> None:
    for op, claim in claims.ops.items():
        require_one_of("--claims: ops", op, list(OPS))
        for name in claim["gradients"] if isinstance(claim["gradients"], list) else []:
            require_one_of(f"--claims: ops/{op}/gradients", name, OPS[op].gradients)
        for name in claim["conventions"] or []:
            require_one_of(
                f"--claims: ops/{op}/conventions", name, [id for id, c in CONVENTIONS.items() if op in c.ops]
            )
    for known in claims.known:
        op_pattern = known["cases"].partition("/")[0]
        ops = [op for op in OPS if fnmatchcase(op, op_pattern)]
        require(bool(ops), "--claims: known_failures/cases", repr(known["cases"]), "a pattern of case ids, op/slug")
        results = [name for op in ops for name in (*OPS[op].outputs, *(f"grad.{n}" for n in OPS[op].gradients))]
        for name in known.get("results", []):
            require_one_of("--claims: known_failures/results", name, list(dict.fromkeys(results)))


def _printable(value: Any) -> Any:
    """Return what a JSON file holds with all its texts printable."""
    if isinstance(value, dict):
        return {printable(key): _printable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_printable(item) for item in value]
    return printable(value) if isinstance(value, str) else value
