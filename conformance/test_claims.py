"""Every framework on all that it claims: no failure but the known ones, and each of those still fails.

`python -m conformance` runs the same in a process a framework. REFIMPL_EVERY_CASE=1 takes every case of the slow ones.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from conformance.measure import SLOW, claims_of, fixtures, frameworks, measure
from refimpl.check.claims import divide, require_in_pack
from refimpl.check.run import Pair, pairs

ROOT = Path(__file__).parents[1]
CLAIMED = [(name, op) for name in frameworks() for op in claims_of(name).ops]


@pytest.fixture(scope="session")
def chosen() -> list[Pair]:
    return pairs(fixtures().cases)


def surprises(adapter: Any, claims: Any, chosen: list[Pair]) -> list[str]:
    found = measure(adapter, claims, chosen, lambda n: None, lambda: None)
    assert found
    return [f"{one.id}, {one.profile}: {one.surprise}" for one in found if one.surprise]


@pytest.mark.filterwarnings("ignore")  # the frameworks' own
@pytest.mark.parametrize(("framework", "op"), CLAIMED)
def test_nothing_but_known_failures(framework: str, op: str, chosen: list[Pair]) -> None:
    why = f"{framework} is not installed"
    adapter = pytest.importorskip(f"conformance.{framework}", reason=why, exc_type=ImportError)
    every = 1 if os.environ.get("REFIMPL_EVERY_CASE") else SLOW.get(framework, 1)
    claims = claims_of(framework)
    claimed, _ = divide(claims, [(case, profile) for case, profile in chosen if case.op == op])
    found = surprises(adapter, claims, claimed[::every])
    assert not found, "\n".join(found)


@pytest.mark.parametrize("framework", frameworks())
def test_claims_are_of_this_pack(framework: str, chosen: list[Pair]) -> None:
    claims = claims_of(framework)
    require_in_pack(claims, [case.id for case, _ in chosen], chosen, [])
    for seen in {known["seen"] for known in claims.known if "seen" in known}:
        assert seen.startswith("https://") or (ROOT / seen).is_file(), seen


def test_what_the_claims_do_not_say_is_a_surprise(chosen: list[Pair]) -> None:
    adapter = pytest.importorskip("conformance.pytorch", reason="PyTorch is not installed", exc_type=ImportError)
    claims = claims_of("pytorch")
    nan = [(case, profile) for case, profile in chosen if case.id == "softmax/masked_row" and profile == "f32"]
    assert surprises(adapter, claims, nan) == []
    (found,) = surprises(adapter, claims._replace(known=[]), nan)
    assert found == "softmax/masked_row, f32: y NaN, budget inf"
    right = [(case, profile) for case, profile in chosen if case.op == "linear" and profile == "f32"][:1]
    (found,) = surprises(adapter, claims._replace(known=[{"cases": "*", "reason": "?", "results": ["y"]}]), right)
    assert found.endswith("known to fail, yet passes: y")
