"""`refimpl check` from arguments to exit status."""

import io
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from refimpl.check import verdict as verdict_module
from refimpl.check.command import run_check
from refimpl.check.compare import compare
from refimpl.check.options import Options
from refimpl.fixtures import canonical

RIGHT = "tests.check.adapters:right"


@pytest.fixture
def check(folder: Path) -> Any:
    """Run the command on the pack of this folder, and return its exit status and what it printed."""

    def run(entry: str | None, **options: Any) -> tuple[int, str]:
        stream = io.StringIO()
        options = Options(entry, **{"fixtures": folder} | options)
        return run_check(options, Console(file=stream, width=100)), stream.getvalue()

    return run


def test_a_right_implementation_passes(check: Any) -> None:
    status, text = check(RIGHT)
    assert status == 0
    assert "\nPASSED  42 of 42; worst budget" in text
    assert "✗" not in text


def test_refimpl_itself_passes_on_numpy(check: Any) -> None:
    ops = ["attention", "linear", "rope", "rotary_embedding", "softmax", "token_embedding"]
    status, text = check("refimpl.ops:run", ops=ops, profiles=["f64", "f32"])
    assert status == 0
    assert "PASSED  16 of 16" in text


def test_a_wrong_one_fails_and_is_named(check: Any) -> None:
    status, text = check("tests.check.adapters:swapped", ops=["rope"])
    assert status == 1
    assert "✗ rope.layout_swapped" in text
    assert "FAILED  4 of 8: rope.layout_swapped (4)" in text


def test_nan_fails_every_case(check: Any) -> None:
    status, text = check("tests.check.adapters:nan", profiles=["f32"])
    assert status == 1
    assert "FAILED  11 of 11" in text


def test_a_crash_is_told_and_the_rest_goes_on(check: Any) -> None:
    status, text = check("tests.check.adapters:crashes", profiles=["f32"])
    assert status == 1
    assert "✗ exception  RuntimeError: out of shared memory (tests/check/adapters.py:" in text
    assert "FAILED  2 of 11: exception (2)" in text


def test_printing_goes_to_neither_stream(check: Any, capfd: pytest.CaptureFixture[str]) -> None:
    status, text = check("tests.check.adapters:speaks", profiles=["f32"])
    assert (status, capfd.readouterr()) == (0, ("", ""))
    assert "compiling" not in text


def test_breaking_the_protocol_everywhere_has_a_status_of_its_own(check: Any) -> None:
    status, text = check("tests.check.adapters:nothing", ops=["rope"], profiles=["f32"])
    assert status == 4
    assert "protocol broken  the result is None, want a dict of arrays" in text


def test_nothing_compared_is_not_a_pass(check: Any) -> None:
    status, text = check("tests.check.adapters:declines", profiles=["f32"])
    assert status == 1
    assert "NOTHING CHECKED  none of 11 passed or failed, 11 unsupported" in text


def test_unsupported_is_counted_and_not_failed(check: Any) -> None:
    status, text = check("tests.check.adapters:rope_only", profiles=["f32"])
    assert status == 0
    assert "PASSED  2 of 11, 9 unsupported" in text


def test_forward_asks_for_outputs_only(check: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "forward_only.py").write_text(
        "from tests.check import adapters\n"
        "def run(op, params, inputs, want):\n"
        "    assert not any(name.startswith(('grad.', 'cot.')) for name in [*want, *inputs])\n"
        "    return adapters.right(op, params, inputs, want)\n"
    )
    status, text = check("forward_only:run", profiles=["f32"], forward=True)
    assert status == 0
    assert "forward_only:run against fixtures" in text
    assert ", outputs only" in text
    assert check("forward_only:run", profiles=["f32"])[0] == 1


def test_strict_fails_what_is_suspicious(check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def worse(*args: Any, honest: float, **options: Any) -> Any:
        return compare(*args, honest=honest, **options)._replace(honest=17.0)

    monkeypatch.setattr(verdict_module, "compare", worse)
    status, text = check(RIGHT, ops=["rope"], profiles=["f32"])
    assert status == 0
    assert "PASSED  2 of 2, 2 suspicious" in text
    status, text = check(RIGHT, ops=["rope"], profiles=["f32"], strict=True)
    assert status == 1
    assert "✗ suspicious  within tolerance, but over 16 × as far off as an honest run" in text


@pytest.mark.parametrize(
    ("entry", "options", "words"),
    [
        (None, {}, ("--entry", "package.module:function")),
        ("tests.check.adapters", {}, ("tests.check.adapters:run",)),
        ("no_such_adapter:run", {}, ("no module 'no_such_adapter'",)),
        (RIGHT, {"command": ["true"]}, ("--entry and a command",)),
        (RIGHT, {"timeout": 0.0}, ("--timeout", "above 0")),
        (RIGHT, {"memory": float("nan")}, ("--memory", "above 0")),
        ("no_such_adapter:run", {"timeout": 20.0}, ("no module 'no_such_adapter'",)),
        (RIGHT, {"ops": ["ropes"]}, ("--op", "'ropes'", "'rope'")),
        (RIGHT, {"profiles": ["fp32"]}, ("--profile", "'fp32'", "'f32'")),
        (RIGHT, {"json": "/no/such/folder/report.json"}, ("--json", "/no/such/folder")),
    ],
)
def test_usage(
    check: Any, capsys: pytest.CaptureFixture[str], entry: str, options: dict[str, Any], words: tuple[str, ...]
) -> None:
    assert check(entry, **options) == (2, "")
    told = capsys.readouterr().err
    assert told.startswith("refimpl check: ")
    assert [word for word in words if word not in told] == []


def test_an_internal_error_is_not_taken_for_usage(check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*args: Any, **options: Any) -> None:
        raise ValueError("a bug of ours")

    monkeypatch.setattr(verdict_module, "compare", breaks)
    with pytest.raises(ValueError, match="a bug of ours"):
        check(RIGHT, ops=["rope"])


def test_missing_changed_or_empty_fixtures(
    check: Any, folder: Path, wide: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = shutil.copytree(folder, tmp_path / "damaged")
    path = damaged / "cases/rope/interleaved.out.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    for options, word in (
        ({"fixtures": tmp_path / "nowhere"}, "nowhere"),
        ({"fixtures": damaged, "ops": ["linear"]}, "cases/rope/interleaved.out.safetensors: changed"),
        ({"ops": ["alibi"]}, "no case of alibi"),
        ({"ops": ["softmax"], "profiles": ["f16"], "fixtures": wide}, "no case in profile f16"),
    ):
        assert check(RIGHT, **options) == (3, "")
        assert word in capsys.readouterr().err


def test_json_holds_everything_and_is_canonical(check: Any, tmp_path: Path) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    for path in (first, second):
        check("tests.check.adapters:nan", ops=["rope", "linear"], profiles=["f32", "bf16"], json=path)
    assert first.read_bytes() == second.read_bytes()
    report = json.loads(first.read_text(), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert (report["format"], report["entry"], report["exit_status"]) == (1, "tests.check.adapters:nan", 1)
    assert report["options"] == {"claims": None, "forward": False, "strict": False}
    assert canonical.validate("report", report, "refimpl.check") is None
    assert [(line["op"], line["profile"], line["failed"]) for line in report["table"]] == [
        ("rope", "f32", 2),
        ("rope", "bf16", 2),
        ("linear", "f32", 1),
        ("linear", "bf16", 1),
    ]
    verdict = report["verdicts"][0]
    assert (verdict["id"], verdict["profile"], verdict["status"]) == ("rope/half_split", "f32", "failed")
    assert verdict["diagnosis"]["verdict"] == "unknown difference"
    assert "y, grad.x, grad.cos, grad.sin: all NaN" in verdict["diagnosis"]["hints"]
    y = verdict["outputs"]["y"]
    assert (y["ok"], y["reason"], y["budget"], y["got"], y["out"], y["size"]) == (False, "NaN", "inf", "nan", 180, 180)
    assert y["at"] == [0, 0, 0, 0]


def test_json_names_mistakes_with_their_references(check: Any, tmp_path: Path) -> None:
    check("tests.check.adapters:swapped", ops=["rope"], profiles=["f32"], json=tmp_path / "report.json")
    report = json.loads((tmp_path / "report.json").read_text())
    (verdict,) = (v for v in report["verdicts"] if v["status"] == "failed")
    assert verdict["cause"] == "rope.layout_swapped"
    assert verdict["diagnosis"]["verdict"] == "other convention"
    named = verdict["diagnosis"]["mistakes"]["rope.layout_swapped"]
    assert "→" in named["description"]
    assert named["seen"]


def test_selftest(check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    status, text = check(None, selftest=True)
    assert status == 0
    assert "CHECKER SOUND" in text
    monkeypatch.setattr(verdict_module, "compare", lambda *args, **options: compare(args[1], args[1], None, **options))
    status, text = check(None, selftest=True, profiles=["f64"])
    assert status == 1
    assert "CHECKER BROKEN" in text


def test_a_command_that_cannot_start_is_told_before_anything_is_built(
    check: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data").write_bytes(b"\0")
    (tmp_path / "data").chmod(0o755)
    for command, fixtures in ((["no_such_program"], tmp_path), ([str(tmp_path / "data")], None)):
        options = {"fixtures": fixtures} if fixtures else {}
        assert check(None, command=command, **options) == (4, "")
        assert f"refimpl check: {command[0]} cannot be started: " in capsys.readouterr().err


def test_a_command_that_says_nothing_of_any_case_breaks_the_protocol(check: Any) -> None:
    status, text = check(None, command=[sys.executable, "-c", "raise SystemExit('no device')"], ops=["rope"])
    assert status == 4
    assert "✗ crash  ended with status 1" in text
    assert "printed: no device" in text


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_entry_with_a_limit_runs_apart(check: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "apart.py").write_text(
        "import os, sys\n"
        f"sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
        "from tests.check import adapters\n"
        "def run(op, params, inputs, want):\n"
        "    if op == 'linear':\n"
        "        os.abort()\n"
        "    if op == 'softmax':\n"
        "        return None\n"
        "    if op == 'dropout':\n"
        "        return {'y': 'text', 'grad.x': [[1.0], [1.0, 2.0]], 'other': 1}\n"
        "    return adapters.right(op, params, inputs, want)\n"
    )
    ops = ["linear", "dropout", "rope", "softmax"]
    status, text = check("apart:run", ops=ops, profiles=["bf16"], timeout=60.0)
    assert status == 4
    assert "✗ crash  ended by signal 6 (SIGABRT)" in text
    words = " ".join(text.split())
    for said in (
        "the result is None, want a dict of arrays",
        "y is a str of dtype <U4, want an array of numbers",
        "other was not asked for",
    ):
        assert said in words
    assert text.splitlines()[-1].startswith("FAILED  3 of 5")
