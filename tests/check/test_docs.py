"""The page for authors of kernels: what it shows works as it says."""

import io
import json
import re
import sys
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from refimpl.check.command import run_check
from refimpl.check.options import Options
from refimpl.cli import app

PAGE = (Path(__file__).parents[2] / "docs/checker.md").read_text(encoding="utf-8")
ADAPTER, PYTEST = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
(CLAIMS,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)


def check(folder: Path, here: Path, adapter: str, **options: object) -> tuple[int, str]:
    (here / "adapter.py").write_text(adapter)
    stream = io.StringIO()
    command = [sys.executable, str(here / "adapter.py")]
    status = run_check(
        Options(command=command, fixtures=folder, ops=["rope"], **options),  # type: ignore[arg-type]
        Console(file=stream, width=100),
    )
    return status, stream.getvalue()


def test_the_adapter_passes(folder: Path, tmp_path: Path) -> None:
    status, text = check(folder, tmp_path, ADAPTER, profiles=["f32"], forward=True)
    assert status == 0, text
    assert "PASSED  1 of 2, 1 unsupported" in text


def test_its_signs_reversed_are_named(folder: Path, tmp_path: Path) -> None:
    wrong = ADAPTER.replace(" - ", " ? ").replace(" + ", " - ").replace(" ? ", " + ")
    status, text = check(folder, tmp_path, wrong, profiles=["f32"], forward=True)
    assert status == 1
    assert "FAILED  1 of 2, 1 unsupported: rope.conjugate (1)" in text
    shown = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)[0]
    assert [line for line in re.findall(r"^    (?:yours|right|effect) .*$", shown, re.M) if line not in text] == []


def test_the_claims_are_held(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    claims = json.loads(CLAIMS)
    del claims["ops"]["rope"]["except"]  # of a case that this pack lacks
    (tmp_path / "claims.json").write_text(json.dumps(claims))
    status, text = check(folder, tmp_path, ADAPTER, claims=tmp_path / "claims.json")
    assert status == 1
    assert "a known failure passes  heads first (https://example.org/12)" in text
    (tmp_path / "claims.json").write_text(CLAIMS)
    assert check(folder, tmp_path, ADAPTER, claims=tmp_path / "claims.json") == (2, "")
    assert "'rope/long_*'" in capsys.readouterr().err


def test_the_command_line_hands_the_command_on(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "adapter.py").write_text(ADAPTER)
    options = ["--fixtures", str(folder), "--op", "rope", "--profile", "f32", "--forward"]
    result = CliRunner().invoke(app, ["check", *options, "--", sys.executable, str(tmp_path / "adapter.py")])
    assert (result.exit_code, "PASSED  1 of 2, 1 unsupported" in result.output) == (0, True)


def test_python_on_the_page_is_python() -> None:
    compile(PYTEST, "page", "exec")
    assert len(PAGE.splitlines()) <= 150
