"""Every adapter on the cases that its claims name: what fails is known, what is known to fail does.

The slow ones (JAX compiles a program a case) take every n-th of their cases; REFIMPL_EVERY_CASE=1 takes all.
"""

from __future__ import annotations

import importlib
import json
import os
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from refimpl.check.command import open_pack
from refimpl.check.report import plain
from refimpl.check.run import Pair, pairs
from refimpl.check.verdict import Verdict, judge
from refimpl.fixtures.read import LoadedCase

EVERY = {"jax": 12, "flax": 4, "equinox": 6, "tinygrad": 7}  # one in so many
NAMES = sorted(path.stem for path in (Path(__file__).parent / "claims").glob("*.json"))
CLAIMS: dict[str, Any] = {
    name: json.loads((Path(__file__).parent / "claims" / f"{name}.json").read_text("utf-8")) for name in NAMES
}
ASKED = [(name, op) for name in NAMES for op in CLAIMS[name]["ops"]]


@cache
def pack(gradients: bool) -> list[LoadedCase]:
    return list(open_pack(os.environ.get("REFIMPL_FIXTURES"), [], gradients=gradients).cases)


def claimed(name: str, op: str) -> list[Pair]:
    """Return the pairs of a case and a profile that a framework claims of an op."""
    said = CLAIMS[name]["ops"][op]
    cases = [case for case in pack(said["gradients"]) if case.op == op]
    left_out = [entry["cases"] for entry in said.get("except", [])]
    chosen = [case for case in cases if not any(fnmatchcase(case.id, pattern) for pattern in left_out)]
    every = 1 if os.environ.get("REFIMPL_EVERY_CASE") else EVERY.get(name, 1)
    return pairs(chosen, said["profiles"])[::every]


def known(name: str, v: Verdict) -> set[str]:
    """Return the results of a case that are known to fail; where the framework raises, "raises"."""
    here = [k for k in CLAIMS[name]["known_failures"] if fnmatchcase(v.id, k["cases"]) and v.profile in k["profiles"]]
    return {result for k in here for result in k.get("results", ["raises"])}


@pytest.mark.filterwarnings("ignore")  # of the frameworks themselves
@pytest.mark.parametrize(("name", "op"), ASKED, ids=lambda x: x)
def test_claims(name: str, op: str) -> None:
    try:
        run = importlib.import_module(f"conformance.{name}").run
    except ImportError as error:
        pytest.skip(str(error))
    for case, profile in claimed(name, op):
        v = judge(case, profile, run)
        failing = set(v.failing) if v.answer.status == "ok" else {"raises"}
        assert failing == known(name, v), f"{name}: {plain(v)}"


def test_every_pattern_is_of_the_pack() -> None:
    ids = [case.id for case in pack(True)]
    for name, claims in CLAIMS.items():
        patterns = [entry["cases"] for op in claims["ops"].values() for entry in op.get("except", [])]
        for pattern in [*patterns, *(entry["cases"] for entry in claims["known_failures"])]:
            assert any(fnmatchcase(id, pattern) for id in ids), f"{name}: {pattern}"


def test_every_reproducer_is_there() -> None:
    root = Path(__file__).parents[1]
    seen = {entry["seen"] for claims in CLAIMS.values() for entry in claims["known_failures"] if "seen" in entry}
    assert not [path for path in seen if not (root / path).is_file()]
