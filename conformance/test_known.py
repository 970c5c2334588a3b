"""Known failures of libraries over PyTorch are what they are said to be: with the cause taken away, they pass."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pytest

from conformance.measure import claims_of, fixtures
from refimpl.check.report import plain
from refimpl.check.request import DTYPES
from refimpl.check.verdict import judge
from refimpl.exact.profiles import PROFILES
from refimpl.fixtures.cases import CASES
from refimpl.fixtures.read import LoadedCase

FRAMEWORKS = ("pytorch", "pytorch_formulas", "transformers", "x_transformers", "rotary_embedding_torch")
torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")


def known(reproducer: str) -> list[tuple[str, str, str]]:
    """Return framework, case and profile of the failures that a reproducer shows; the name by glob."""
    entries = [(name, entry) for name in FRAMEWORKS for entry in claims_of(name).known]
    shown = [(name, e) for name, e in entries if fnmatchcase(e.get("seen", ""), f"*/{reproducer}.py")]
    return [(name, id, p) for name, e in shown for id in CASES if fnmatchcase(id, e["cases"]) for p in e["profiles"]]


@pytest.fixture(scope="module")
def pack() -> dict[str, LoadedCase]:
    return {case.id: case for case in fixtures().cases}


def adapter(framework: str) -> Callable[..., dict[str, np.ndarray]]:
    return pytest.importorskip(f"conformance.{framework}", exc_type=ImportError).run


@pytest.mark.parametrize(("framework", "id", "profile"), known("*_16_bits"))
def test_in_float32_and_rounded_once_it_passes(
    framework: str, id: str, profile: str, pack: dict[str, LoadedCase]
) -> None:
    run, narrow = adapter(framework), DTYPES[PROFILES[profile].dtype]

    def wide(op: str, params: Any, inputs: dict[str, np.ndarray], want: list[str]) -> dict[str, np.ndarray]:
        arrays = {name: x.astype(np.float32) if x.dtype == narrow else x for name, x in inputs.items()}
        return {name: x.astype(narrow) for name, x in run(op, params, arrays, want).items()}

    found = judge(pack[id], profile, wide)
    assert found.status == "passed", plain(found)


@pytest.mark.parametrize(("framework", "id", "profile"), known("pytorch_sigmoid_gradient"))
def test_with_another_sigmoid_it_passes(
    framework: str, id: str, profile: str, pack: dict[str, LoadedCase], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the logarithm the gradient is y σ(−x)."""
    for owner in (torch, torch.Tensor):
        monkeypatch.setattr(owner, "sigmoid", lambda x: torch.nn.functional.logsigmoid(x).exp())
    found = judge(pack[id], profile, adapter(framework))
    assert found.status == "passed", plain(found)
