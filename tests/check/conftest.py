"""One pack of a few telling cases for all tests of this folder."""

from pathlib import Path

import pytest

from refimpl.fixtures.build import generate
from refimpl.fixtures.cases import CASES
from refimpl.fixtures.pack import assemble
from refimpl.fixtures.place import place
from refimpl.fixtures.read import LoadedCase, read
from refimpl.fixtures.verify import verify

IDS = (
    "alibi_slopes/six_heads",
    "attention/gqa_6_2",
    "dropout/everything_dropped",
    "linear/square_weight",
    "rope/half_split",
    "rope/interleaved",
    "rotary_embedding/chunk",
    "sinusoidal/fractional",
    "softmax/full_mantissa",
    "softmax/masked_row",
    "token_embedding/repeated_ids",
)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pack; not to be changed."""
    out = tmp_path_factory.mktemp("check") / "fixtures"
    place(out, generate([CASES[id] for id in IDS], jobs=1).files, verify)
    return out


@pytest.fixture(scope="session")
def loaded(folder: Path) -> dict[str, LoadedCase]:
    """Its cases by id."""
    return {case.id: case for case in read(folder).cases}


@pytest.fixture(scope="session")
def wide(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pack of one case, which no 16-bit profile offers."""
    names = [f"cases/softmax/full_mantissa.{end}" for end in ("json", "in.safetensors", "out.safetensors")]
    out = tmp_path_factory.mktemp("wide") / "fixtures"
    place(out, assemble({name: (folder / name).read_bytes() for name in names}), verify)
    return out
