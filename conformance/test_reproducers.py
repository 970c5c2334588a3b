"""Every accusation, run: a reproducer asserts that the framework still does what is said of it."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from conformance.measure import claims_of, frameworks

FOLDER = Path(__file__).parent / "reproducers"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_reproducer(path: Path) -> None:
    try:
        runpy.run_path(str(path))
    except ModuleNotFoundError as error:
        pytest.skip(f"{error.name} is not installed")


def test_every_reproducer_is_of_a_known_failure() -> None:
    seen = {Path(known.get("seen", "")).name for name in frameworks() for known in claims_of(name).known}
    assert {path.name for path in FOLDER.glob("*.py")} <= seen
