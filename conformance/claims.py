"""Claims: what an adapter says its framework can do, and which failures are known. One JSON file a framework."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from refimpl.check.request import wanted
from refimpl.fixtures.read import LoadedCase

FOLDER = Path(__file__).parent / "claims"


class Known(NamedTuple):
    """A failure that is understood: cases by glob; no profiles or results means all of a case."""

    cases: str
    reason: str
    profiles: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    seen: str = ""

    def names(self, id: str, profile: str) -> bool:
        return fnmatchcase(id, self.cases) and (not self.profiles or profile in self.profiles)


class Claims(NamedTuple):
    """What a framework's file says."""

    name: str
    version: str
    ops: Mapping[str, Mapping[str, Any]]
    known: tuple[Known, ...]

    def results(self, case: LoadedCase, profile: str) -> list[str]:
        """Return the results of a case that are claimed in a profile; none: the case is not claimed."""
        op = self.ops.get(case.op)
        if op is None or profile not in op["profiles"]:
            return []
        if any(fnmatchcase(case.id, entry["cases"]) for entry in op.get("except", [])):
            return []
        followed = op.get("conventions")
        if followed is not None and not set(case.description["conventions"]) <= set(followed):
            return []
        gradients = op.get("gradients", True)
        named = [f"grad.{name}" for name in gradients] if isinstance(gradients, list) else []
        return [name for name in wanted(case) if gradients is True or name in named or not name.startswith("grad.")]

    def why(self, id: str, profile: str, result: str) -> Known | None:
        """Return the known failure that a failing result belongs to."""
        return next((k for k in self.known if k.names(id, profile) and (not k.results or result in k.results)), None)

    def expected(self, id: str, profile: str) -> set[str]:
        """Return the results that are known to fail, "*" for any of them."""
        return {name for k in self.known if k.names(id, profile) for name in k.results or ("*",)}


def frameworks() -> list[str]:
    """Return the names of all adapters that have claims."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def read(framework: str) -> Claims:
    """Read a framework's claims."""
    found = json.loads((FOLDER / f"{framework}.json").read_text("utf-8"))
    known = tuple(
        Known(
            entry["cases"],
            entry["reason"],
            tuple(entry.get("profiles", ())),
            tuple(entry.get("results", ())),
            entry.get("seen", ""),
        )
        for entry in found.get("known_failures", [])
    )
    implementation = found["implementation"]
    return Claims(implementation["name"], implementation.get("version", ""), found["ops"], known)
