"""Every framework on all that it claims: no failure but the known ones, and each of those still fails."""

from __future__ import annotations

import importlib
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from conformance.claims import frameworks, read
from conformance.measure import claimed, measure
from refimpl.check.command import open_pack
from refimpl.check.run import Pair, pairs
from refimpl.exact.profiles import PROFILES
from refimpl.fixtures.cases import CASES
from refimpl.fixtures.conventions import CONVENTIONS
from refimpl.ops import OPS

ROOT = Path(__file__).parents[1]
OPS_CLAIMED = [(name, op) for name in frameworks() for op in read(name).ops]


@pytest.fixture(scope="session")
def chosen() -> list[Pair]:
    return pairs(open_pack(None, []).cases)


@pytest.mark.parametrize(("framework", "op"), OPS_CLAIMED)
def test_nothing_but_known_failures(framework: str, op: str, chosen: list[Pair]) -> None:
    adapter = pytest.importorskip(f"conformance.{framework}", reason=f"{framework} is not installed", exc_type=ImportError)
    claims = read(framework)
    found = list(measure(claims, adapter.run, [(case, profile) for case, profile in chosen if case.op == op]))
    assert found
    surprises = [f"{one.id}, {one.profile}: {one.surprise}" for one in found if one.surprise]
    assert not surprises, "\n".join(surprises)


@pytest.mark.parametrize("framework", frameworks())
def test_claims_are_of_this_pack(framework: str, chosen: list[Pair]) -> None:
    claims = read(framework)
    pairs_claimed = [(case.id, profile) for case, profile in claimed(claims, chosen)]
    for op, claim in claims.ops.items():
        assert op in OPS
        assert set(claim["profiles"]) <= set(PROFILES)
        assert set(claim.get("conventions") or ()) <= set(CONVENTIONS)
        if isinstance(claim.get("gradients", True), list):
            assert set(claim["gradients"]) <= set(OPS[op].gradients)
        assert any(id.startswith(f"{op}/") for id, _ in pairs_claimed), op
        for entry in claim.get("except", []):
            assert any(fnmatchcase(id, entry["cases"]) for id in CASES if id.startswith(f"{op}/")), entry
    for known in claims.known:
        profiles = known.profiles or tuple(PROFILES)
        for profile in profiles:
            hit = [id for id, in_profile in pairs_claimed if in_profile == profile and known.names(id, profile)]
            assert hit or not known.profiles, known
        assert known.reason


@pytest.mark.parametrize("framework", frameworks())
def test_reproducers_exist(framework: str) -> None:
    for known in read(framework).known:
        assert known.seen.startswith("https://") or (ROOT / known.seen).is_file(), known


def test_a_wrong_result_is_a_surprise(chosen: list[Pair]) -> None:
    adapter, claims = importlib.import_module("conformance.pytorch"), read("pytorch")
    some = [(case, profile) for case, profile in chosen if case.id == "softmax/masked_row" and profile == "f32"]
    unknown = claims._replace(known=())
    (one,) = measure(unknown, adapter.run, some)
    assert one.surprise.startswith("fails, and is not known to: y (budget inf, got nan, want 0")
    right = [(case, profile) for case, profile in chosen if case.id == "softmax/plain" or case.op == "linear"][:1]
    known = claims._replace(known=(claims.known[0]._replace(cases="*", profiles=(), results=("y",)),))
    (one,) = measure(known, adapter.run, right)
    assert one.surprise == "known to fail, yet passes: y"
