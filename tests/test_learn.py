"""The reading path is that of today: what it names exists, and each exercise breaks what it says."""

import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from plots.gallery import NAMES
from refimpl.check.verdict import judge
from refimpl.fixtures.build import generate
from refimpl.fixtures.cases import CASES
from refimpl.fixtures.place import place
from refimpl.fixtures.read import read
from refimpl.fixtures.verify import verify
from refimpl.mistakes import MISTAKES

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs/learn.md").read_text()
EXERCISE = re.compile(
    r"```diff\n--- broken/(\S+)\n((?:-.*\n)+)((?:\+.*\n)+)```\n\n"
    r"`(refimpl check [^`]*)`:\s+case\s+`([^`]*)`,\s+mistake\s+`([^`]*)`"
)


class Exercise(NamedTuple):
    file: str
    old: str
    new: str
    command: str
    case: str
    mistake: str


def lines(block: str) -> str:
    """Return a part of a diff without its signs."""
    return "".join(line[1:] for line in block.splitlines(keepends=True))


EXERCISES = [Exercise(m[1], lines(m[2]), lines(m[3]), m[4], m[5], m[6]) for m in EXERCISE.finditer(TEXT)]
each = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.mistake)


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pack of the cases that the exercises name."""
    out = tmp_path_factory.mktemp("learn") / "fixtures"
    ids = sorted({exercise.case for exercise in EXERCISES})
    place(out, generate([CASES[id] for id in ids], jobs=1).files, verify)
    return out


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the package, to be imported as `broken`."""
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name.partition(".")[0] == "broken"]:
        del sys.modules[name]
    return Path(shutil.copytree(ROOT / "refimpl", tmp_path / "broken", ignore=shutil.ignore_patterns("__pycache__")))


def break_in(folder: Path, exercise: Exercise) -> None:
    """Change the lines that the exercise names."""
    path = folder / exercise.file
    source = path.read_text()
    assert source.count(exercise.old) == 1, f"{exercise.file} has not once:\n{exercise.old}"
    path.write_text(source.replace(exercise.old, exercise.new))


def test_every_exercise_is_read() -> None:
    assert len(EXERCISES) == TEXT.count("```diff") >= 20
    assert all(exercise.mistake in MISTAKES for exercise in EXERCISES)


@each
def test_the_named_case_names_the_mistake(exercise: Exercise, broken: Path, pack: Path) -> None:
    options = exercise.command.split()
    assert options[:5] == ["refimpl", "check", "--entry", "broken.ops:run", "--op"]
    (case,) = (c for c in read(pack, gradients="--forward" not in options).cases if c.id == exercise.case)
    assert case.op == options[5]
    break_in(broken, exercise)
    with np.errstate(all="ignore"):  # overflow is one of the mistakes
        verdict = judge(case, options[7], importlib.import_module("broken.ops").run)
    assert verdict.status == "failed"
    assert verdict.diagnosis is not None
    assert verdict.diagnosis.mistakes[:1] == (exercise.mistake,)


def test_the_copy_passes_before_it_is_broken(broken: Path, pack: Path) -> None:
    run = importlib.import_module("broken.ops").run
    assert {judge(case, "f64", run).status for case in read(pack).cases} == {"passed"}


def test_a_command_of_the_page_says_what_the_page_says(broken: Path, pack: Path) -> None:
    exercise = next(exercise for exercise in EXERCISES if exercise.mistake == "rope.conjugate")
    break_in(broken, exercise)
    command = [sys.executable, "-m", *exercise.command.split(), "--fixtures", str(pack)]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    result = subprocess.run(command, cwd=broken.parent, env=env, capture_output=True, text=True, check=False)
    assert result.returncode == 1, result.stderr
    assert f"✗ {exercise.mistake}" in result.stdout


def test_what_the_page_names_exists() -> None:
    for path in re.findall(r"`((?:[a-z_]+/)+[a-z_0-9]+\.py)`", TEXT):
        assert (ROOT / "refimpl" / path).is_file(), path
    for target in re.findall(r"\]\(([^)]*)\)", TEXT):
        assert (ROOT / "docs" / target).is_file(), target
    figures = re.findall(r"Figures?:((?:\s+`[a-z0-9_]+`,?)+)", TEXT)
    assert len(figures) >= 11
    assert {name for names in figures for name in re.findall(r"`(\w+)`", names)} <= set(NAMES)
