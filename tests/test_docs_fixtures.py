"""What docs/fixtures.md shows is what happens."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from refimpl.fixtures.read import read
from tests.fixtures.compilers import tool

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "fixtures.md"
TEXT = PAGE.read_text()
SHOWN = [block.splitlines() for block in re.findall(r"\$ (.*?)(?=\n\$ |\n```)", TEXT, flags=re.S)]
PYTHON = f'"{sys.executable}" -m refimpl '


def prints(folder: Path, command: str) -> str:
    """Run a quoted command and return what it prints; check may end with 1, a case failed."""
    done = subprocess.run(
        re.sub(r"^refimpl ", lambda _: PYTHON, command),
        shell=True,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "80"},
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == int(command.startswith("refimpl check")), done.stderr
    return done.stdout


def missing(quoted: list[str], printed: str) -> list[str]:
    """Return the quoted lines that were not printed; "..." stands for anything."""
    forms = [re.escape(line).replace(re.escape("..."), ".*") for line in quoted]
    return [form for form in forms if not re.search(f"^{form}$", printed, flags=re.M)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the page's files lie and its commands have been run, each printing what is quoted."""
    folder = tmp_path_factory.mktemp("page")
    for language, name, first in (("python", "mine.py", "import numpy"), ("c", "alibi.c", "#include")):
        source = re.search(rf"```{language}\n({first}.*?)```", TEXT, flags=re.S)
        assert source
        (folder / name).write_text(source[1])
    for command, *lines in SHOWN:
        if command.startswith("refimpl "):
            assert missing(lines, prints(folder, command)) == []
    return folder


def test_is_short() -> None:
    assert len(TEXT.splitlines()) <= 200


def test_commands_print_what_is_quoted(folder: Path) -> None:
    commands = [command.split()[:2] for command, *_ in SHOWN]
    assert commands.count(["refimpl", "export"]) == 2
    assert {"build", "verify", "check"} <= {words[1] for words in commands}
    assert sum(len(lines) for _, *lines in SHOWN) >= 12


def test_the_c_program_prints_what_is_quoted(folder: Path) -> None:
    tool("cc")
    (found,) = [shown for shown in SHOWN if shown[0].startswith("cc ")]
    printed = prints(folder, found[0].replace("cc ", "cc -Wall -Wextra -Wpedantic -Werror ", 1))
    assert len(found) > 2
    assert missing(found[1:], printed) == []


def test_examples_print_what_they_say(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    result = doctest.testfile(str(PAGE), module_relative=False)
    assert result.attempted >= 20
    assert result.failed == 0


def test_numbers_in_the_text_are_those_of_the_case(folder: Path) -> None:
    case = next(case for case in read(folder / "fixtures").cases if case.id == "alibi/full_mantissa")
    honest, tolerance = case.honest("f32")["grad.slopes"], case.tolerance("f32")["grad.slopes"][0]
    suspicious = 16 * max(honest, 2.0**-24 * np.max(np.abs(case.expected["grad.slopes"])))
    assert f"here {plain(tolerance)}. 0 where nothing" in TEXT
    assert f"sums in order: here {plain(honest)}" in TEXT
    assert f"from {plain(suspicious)} on, which is {suspicious / tolerance:.2f} of the tolerance" in TEXT
    caught = case.description["catches"]
    (wrong,) = [c["budget"] for c in caught if (c["output"], c["profile"]) == ("grad.slopes", "f32")]
    assert f"(`alibi.gradient_sign`), {wrong:,.0f} budgets" in TEXT


def plain(number: float) -> str:
    """Write a number as the text does: 2.2e-5."""
    return f"{number:.1e}".replace("e-0", "e-")


def test_named_files_exist() -> None:
    for path in re.findall(r"`((?:refimpl|tests)/[\w/.]+)`", TEXT):
        assert (ROOT / path).exists(), path
    for path in re.findall(r"\]\(([\w./]+)", TEXT):
        assert (PAGE.parent / path).exists(), path
