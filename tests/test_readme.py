"""What the README shows is what happens."""

import doctest
import re
import subprocess
import sys
from pathlib import Path

from refimpl.fixtures.listing import property_lines

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"


def test_examples_print_what_they_say():
    result = doctest.testfile(str(README), module_relative=False)
    assert result.attempted >= 7
    assert result.failed == 0


def test_is_short():
    assert len(README.read_text().splitlines()) <= 150


def test_named_files_and_commands_exist():
    text = README.read_text()
    targets = re.findall(r"^make ([a-z-]+)", text, flags=re.M)
    makefile = (ROOT / "Makefile").read_text()
    assert len(targets) >= 2
    assert all(f"\n{target}:" in makefile for target in targets)
    for path in re.findall(r"`((?:embeddings|rotary|bias|attention)/[a-z_]+\.py)`", text):
        assert (ROOT / "refimpl" / path).is_file(), path
    for path in re.findall(r"`(docs/[a-z_]+\.md)`", text):
        assert (ROOT / path).is_file(), path


def test_the_wrong_kernel_is_named_as_shown(tmp_path):
    """The kernel in the README, run by its command, gives the verdict that the README quotes."""
    text = README.read_text()
    kernel = re.search(r"```python\n(import numpy.*?)```", text, flags=re.S)
    command = re.search(r"`(refimpl check --entry mine:run[^`]*)`", text)
    quoted = re.search(r"```text\n(.*?)```", text, flags=re.S)
    assert kernel
    assert command
    assert quoted
    (tmp_path / "mine.py").write_text(kernel[1])
    run = subprocess.run(
        [sys.executable, "-m", *command[1].split()], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode == 1, run.stderr
    for line in filter(None, map(str.strip, quoted[1].splitlines())):
        assert line in run.stdout, line


def test_measured_properties_are_those_of_today():
    lines = (ROOT / "docs" / "properties.md").read_text().splitlines()
    assert [line for line in property_lines()[1:] if line not in lines] == []
