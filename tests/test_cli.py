"""The command line: help, listings, exit statuses, and errors that say what would have been right."""

import inspect
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from refimpl.cli import app
from refimpl.exact.profiles import PROFILES
from refimpl.fixtures import canonical, command, digests, listing
from refimpl.fixtures.build import build
from refimpl.fixtures.cases import CASES
from refimpl.fixtures.conventions import CONVENTIONS
from refimpl.mistakes import MISTAKES
from refimpl.ops import OPS
from tests.fixtures.packs import contents, list_again, python, refimpl

COUNT = sum(case.op == "alibi" for case in CASES.values())


def run(*args: object) -> tuple[int, str]:
    """Run a command in this process; return its exit status and all that it printed."""
    result = CliRunner().invoke(app, [str(arg) for arg in args])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("cli") / "fixtures"
    build(out, ops=["alibi"], jobs=1)
    return out


def test_help_says_how_to_begin_and_what_the_statuses_mean() -> None:
    status, text = run("--help")
    assert status == 0
    assert all(word in text for word in ("refimpl build", "refimpl verify", "refimpl check --entry", "refimpl list"))
    assert all(f"  {status}  " in text for status in range(5))


@pytest.mark.parametrize("name", ["build", "verify", "check", "plot", "list"])
def test_every_command_has_help(name: str) -> None:
    status, text = run(name, "--help")
    assert status == 0
    assert "Usage:" in text


def test_no_arguments_print_the_help() -> None:
    assert "Commands:" in run()[1]


@pytest.mark.parametrize(
    ("table", "names"), [("ops", OPS), ("cases", CASES), ("conventions", CONVENTIONS), ("mistakes", MISTAKES)]
)
def test_listings_name_everything_once(table: str, names: dict[str, object]) -> None:
    status, text = run("list", table)
    assert status == 0
    listed, _, properties = text.partition("\n\n")
    assert [line.split()[0] for line in listed.splitlines()] == list(names)
    assert properties.startswith("encoding") == (table == "ops")


@pytest.mark.parametrize(
    ("op", "takes"),
    [
        ("alibi_slopes", "(H, max_bias=8) -> y  "),
        ("rope", "(x, cos, sin; interleaved=True, interleaved_output=None) -> y  "),
        ("softmax_sink", "(x, sink, [mask]"),
        ("sinusoidal", "layout='"),
    ],
)
def test_ops_are_listed_with_their_defaults(op: str, takes: str) -> None:
    assert takes in run("list", "ops", "--op", op)[1].splitlines()[0]


def test_every_default_is_that_of_the_function() -> None:
    for line, op in zip(run("list", "ops")[1].splitlines(), OPS.values(), strict=False):
        takes = line.partition("(")[2].partition(") -> ")[0]
        options = takes.rpartition("; ")[2] if "; " in takes or not op.arrays else ""
        listed = inspect.signature(eval(f"lambda *, {options}: 0" if options else "lambda: 0")).parameters
        accepted = inspect.signature(op.forward).parameters
        assert {name: option.default for name, option in listed.items()} == {
            name: accepted[name].default for name in accepted.keys() - {*op.arrays, "xp", "dtype"}
        }


def test_cases_are_listed_with_their_options() -> None:
    text = run("list", "cases", "--op", "alibi", "--op", "rope")[1]
    assert re.search(r'^alibi/full +.*  \{"T": 5, "S": 7\}$', text, re.MULTILINE)
    assert listing._params({"sections": list(range(9)), "base": 1e4}) == (
        '{"sections": [0, 1, 2, 3, 4, 5, …], "base": 10000.0}'
    )


def test_listings_of_one_op() -> None:
    assert {line.split("/")[0] for line in run("list", "cases", "--op", "rope")[1].splitlines()} == {"rope"}
    assert len(run("list", "mistakes", "--op", "rope", "--op", "alibi")[1].splitlines()) == sum(
        mistake.op in ("rope", "alibi") for mistake in MISTAKES.values()
    )


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["build", "--op", "rop"], ["--op", "'rop'", "Did you mean rope", *OPS]),
        (["list", "cases", "--op", "softmx"], ["'softmx'", "softmax"]),
        (["check", "--entry", "refimpl.ops:run", "--profile", "fp32"], ["--profile", "'fp32'", "f32", *PROFILES]),
        (["check", "--entry", "refimpl.ops:run", "--op", "attn"], ["--op", "'attn'", "attention"]),
        (["build", "--jobs", "0"], ["--jobs", "got 0", "1 or more"]),
        (["build", "--record", "--check"], ["--record"]),
        (["build", "--record", "--op", "rope"], ["--record"]),
        (["list", "mistakes", "--profile", "f32"], ["--profile", "only with --matrix"]),
        (["list", "ops", "--fixtures", "x"], ["--fixtures", "only with --matrix"]),
        (["list", "everything"], ["everything", "mistakes"]),
        (["verify"], ["DIR"]),
        (["bild"], ["bild"]),
        (["build", "--ouput", "x"], ["--ouput", "--out"]),
    ],
)
def test_usage_errors_say_what_is_allowed(args: list[str], words: list[str]) -> None:
    status, text = run(*args)
    assert status == 2
    assert [word for word in words if word not in text] == []
    assert "Traceback" not in text


def test_check_without_an_entry_is_a_usage_error(pack: Path) -> None:
    status, text = run("check", "--fixtures", pack)
    assert status == 2
    assert "Traceback" not in text


def test_build_prints_its_summary(tmp_path: Path) -> None:
    result = refimpl("build", "--op", "alibi", "--out", "fixtures", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert all(word in result.stdout for word in ("cases", "ops", "NumPy float64 budget", "bytes", "seconds"))
    assert f" {COUNT} " in result.stdout
    assert list(tmp_path.iterdir()) == [tmp_path / "fixtures"]


def test_build_works_from_a_script_without_a_main_guard(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        f"from refimpl.fixtures.build import build\nbuild({str(tmp_path / 'out')!r}, ops=['alibi'], jobs=1)\n"
    )
    assert python(f"import runpy; runpy.run_path({str(script)!r}, run_name='__main__')").returncode == 0
    assert (tmp_path / "out" / "MANIFEST.json").exists()


def test_verify_prints_the_counts(pack: Path) -> None:
    status, text = run("verify", pack)
    assert status == 0
    assert f"{COUNT} cases" in text
    assert f"alibi {COUNT}" in text


def test_a_pack_of_a_newer_version(pack: Path, tmp_path: Path) -> None:
    newer = shutil.copytree(pack, tmp_path / "newer")
    shutil.copytree(newer / "cases/alibi", newer / "cases/newop")
    for path in (newer / "cases/newop").glob("*.json"):
        case = json.loads(path.read_bytes()) | {"id": f"newop/{path.stem}", "op": "newop", "catches": []}
        path.write_bytes(canonical.dump(case))
    list_again(newer, version="9.8.7")
    status, text = run("verify", newer)
    assert status == 0
    assert "version 9.8.7 of the data; this refimpl builds" in text
    assert "this version of refimpl has no op newop\n" in text
    status, text = run("check", "--entry", "refimpl.ops:run", "--fixtures", newer)
    assert status == 3
    assert "this version of refimpl has no op newop" in text
    assert run("check", "--entry", "refimpl.ops:run", "--fixtures", newer, "--op", "alibi", "--profile", "f64")[0] == 0


def test_verify_names_what_is_wrong(pack: Path, tmp_path: Path) -> None:
    damaged = shutil.copytree(pack, tmp_path / "damaged")
    path = damaged / "cases/alibi/full.out.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    (damaged / "cases/alibi/key_only.json").unlink()
    status, text = run("verify", damaged)
    assert status == 3
    assert "cases/alibi/full.out.safetensors: changed" in text
    assert "cases/alibi/key_only.json: missing" in text
    assert run("verify", tmp_path / "nowhere")[0] == 3


def test_check_of_a_damaged_pack(pack: Path, tmp_path: Path) -> None:
    damaged = shutil.copytree(pack, tmp_path / "damaged")
    path = damaged / "cases/alibi/full.out.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    status, text = run("check", "--entry", "refimpl.ops:run", "--fixtures", damaged)
    assert status == 3
    assert "cases/alibi/full.out.safetensors" in text


def test_check_passes_numpy(pack: Path, tmp_path: Path) -> None:
    status, _ = run(
        "check",
        "--entry",
        "refimpl.ops:run",
        "--fixtures",
        pack,
        "--profile",
        "f64",
        "--json",
        tmp_path / "report.json",
    )
    assert status == 0
    assert json.loads((tmp_path / "report.json").read_bytes())


def test_build_check_compares_with_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digests, "RECORD", tmp_path / "digests.txt")
    status, text = run("build", "--check", "--op", "alibi", "--jobs", 1)
    assert status == 3
    assert "new: alibi/full" in text
    digests.record(build(tmp_path / "out", ops=["alibi"], jobs=1).files)
    assert run("build", "--check", "--op", "alibi", "--jobs", 1)[0] == 0
    kept = digests.RECORD.read_text()
    for what, digest in zip(("changed values", "changed"), digests.recorded().digests["alibi/full"], strict=True):
        digests.RECORD.write_text(kept.replace(digest, "0" * 64))
        status, text = run("build", "--check", "--op", "alibi", "--jobs", 1)
        assert status == 3
        assert f"{what}: alibi/full\n" in text


def test_build_refuses_values_unlike_those_on_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = digests.recorded()
    digest = known.digests["alibi/full"].values
    monkeypatch.setattr(digests, "RECORD", tmp_path / "digests.txt")
    digests.RECORD.write_text(f"version {known.version}\n{'0' * 64}  {'0' * 64}  alibi/full\n")
    status, text = run("build", "--op", "alibi", "--jobs", 1, "--out", tmp_path / "out")
    assert status == 3
    assert f"alibi/full: its values are not those on record for version {known.version}" in text
    assert not (tmp_path / "out").exists()
    digests.RECORD.write_text(f"version {known.version}\n{digest}  {'0' * 64}  alibi/full\n")
    assert run("build", "--op", "alibi", "--jobs", 1, "--out", tmp_path / "out")[0] == 0


def test_a_case_that_cannot_be_proven_ends_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from refimpl.fixtures.errors import BuildError

    def fail(*args: object, **options: object) -> None:
        raise BuildError("alibi/full: profile f32, y: an honest run is 3 tolerances off")

    monkeypatch.setattr(command, "build", fail)
    status, text = run("build", "--out", tmp_path / "out")
    assert status == 1
    assert "alibi/full: profile f32, y" in text


@pytest.mark.parametrize(
    ("module", "extra"), [("flint", "fixtures"), ("jsonschema", "fixtures"), ("typer", "fixtures")]
)
def test_a_missing_package_is_named_with_its_group(module: str, extra: str, tmp_path: Path) -> None:
    code = f"""
import sys
sys.modules[{module!r}] = None
sys.argv = ["refimpl", "build", "--op", "alibi", "--jobs", "1", "--out", {str(tmp_path / "out")!r}]
from refimpl.__main__ import main
main()
"""
    result = python(code)
    assert result.returncode in (1, 2)
    assert f"needs {module}: pip install 'refimpl[{extra}]'" in result.stderr
    assert "Traceback" not in result.stderr
    assert not contents(tmp_path)


def test_importing_refimpl_loads_no_heavy_module() -> None:
    heavy = ("flint", "typer", "rich", "jsonschema", "safetensors", "ml_dtypes", "torch", "jax", "refimpl.fixtures")
    result = python(f"import refimpl, sys; print([name for name in {heavy} if name in sys.modules])")
    assert result.stdout.strip() == "[]"


def test_the_listing_survives_a_closed_pipe() -> None:
    command = [sys.executable, "-m", "refimpl", "list", "cases"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert "Traceback" not in process.stderr.read()
