"""JUnit's XML: what fails, what is skipped, and nothing that a parser refuses."""

import io
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console

from refimpl.check.command import run_check
from refimpl.check.junit import junit
from refimpl.check.options import Options
from refimpl.check.run import judge_all, pairs
from refimpl.fixtures.read import LoadedCase
from tests.check import adapters

Loaded = dict[str, LoadedCase]


def parsed(loaded: Loaded, implementation: Any, **options: Any) -> ET.Element:
    verdicts = judge_all(pairs(loaded.values(), ["f32"]), implementation)
    return ET.fromstring(junit(verdicts, title="mine\x00", **options))


def test_counts_failures_and_names_them(loaded: Loaded) -> None:
    root = parsed(loaded, adapters.swapped)
    assert {key: root.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "11",
        "failures": "1",
        "errors": "0",
        "skipped": "0",
    }
    (failure,) = root.iter("failure")
    assert failure.get("message") == "rope.layout_swapped: other convention"
    assert failure.text is not None
    assert "budget" in failure.text
    (test,) = (test for test in root.iter("testcase") if test.find("failure") is not None)
    assert (test.get("classname"), test.get("name")) == ("refimpl.rope", "rope/interleaved-f32")
    assert sum(int(suite.get("tests", "0")) for suite in root) == 11


def test_unsupported_is_skipped_with_its_reason(loaded: Loaded) -> None:
    root = parsed(loaded, adapters.rope_only)
    assert root.get("skipped") == "9"
    assert {skipped.get("message") for skipped in root.iter("skipped")} >= {"unsupported: linear"}


def test_what_crashes_is_an_error_and_control_characters_are_replaced(loaded: Loaded) -> None:
    def breaks(*_: Any) -> None:
        raise RuntimeError("no \x1b[31m kernel \ufffe & <more>")

    root = parsed(loaded, breaks, breaches=["wrote \x00 beside OUT"])
    assert (root.get("errors"), root.get("failures")) == ("12", "0")
    messages = [error.get("message", "") for error in root.iter("error")]
    assert messages[0].startswith("exception: RuntimeError: no \ufffd[31m kernel \ufffd & <more>")
    assert root.find("testsuite[@name='protocol']") is not None


def test_the_command_writes_it(folder: Path, tmp_path: Path) -> None:
    options = Options("tests.check.adapters:swapped", fixtures=folder, ops=["rope"], junit=tmp_path / "report.xml")
    assert run_check(options, Console(file=io.StringIO())) == 1
    assert ET.parse(tmp_path / "report.xml").getroot().get("failures") == "4"


@pytest.mark.parametrize("name", ["json", "junit", "claims"])
def test_a_path_that_cannot_be_used_is_found_before_the_run(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (tmp_path / "file").write_text("kept")
    for path in (tmp_path, tmp_path / "no" / "report", tmp_path / "file" / "report"):
        options = Options("no_such_module:run", fixtures=folder)._replace(**{name: path})
        assert run_check(options) == 2
        assert f"refimpl check: --{name}: {path}" in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == "kept"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
