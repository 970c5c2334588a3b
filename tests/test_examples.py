"""Every example does what its first lines and examples/README.md say."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from examples import golden_rows
from refimpl.fixtures.build import generate
from refimpl.fixtures.cases import CASES
from refimpl.fixtures.place import place
from refimpl.fixtures.verify import verify
from tests.fixtures.packs import refimpl

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
PAGE = (EXAMPLES / "README.md").read_text(encoding="utf-8")
IDS = (
    *("rope/half_split", "rope/interleaved", "rope/one_token", "rope/half_split_to_interleaved"),
    *("attention/causal_between", "attention/gqa_6_2", "attention/mask_and_causal", "attention/lse_masked_row"),
    *("attention/bias", "blocked_attention/causal_gqa", "blocked_attention/short_last_block"),
)


@pytest.fixture(scope="module")
def pack(tmp_path_factory):
    """Cases that open every path of the kernels, and some that they do not support."""
    out = tmp_path_factory.mktemp("examples") / "fixtures"
    place(out, generate([CASES[id] for id in IDS], jobs=1).files, verify)
    return out


def commands(path):
    """Return the refimpl commands of a file, without the word refimpl."""
    return [shlex.split(line)[1:] for line in re.findall(r"\brefimpl check .*", path.read_text(encoding="utf-8"))]


def check(command, pack, cwd=ROOT):
    return refimpl(*command, "--fixtures", pack, cwd=cwd)


@pytest.mark.parametrize(
    ("file", "number", "status", "said"),
    [
        ("wrong_and_right_rope.py", 0, 1, "rope.layout_mixed (2)"),
        ("wrong_and_right_rope.py", 1, 0, "PASSED  2 of 4, 2 unsupported"),
        ("fused_attention.py", 0, 0, "PASSED  4 of 5, 1 unsupported"),
        ("fused_attention.py", 1, 1, "blocked.never_shrunk (2)"),
        ("fused_attention.py", 2, 1, "FAILED  2 of 5, 1 unsupported: unknown difference (2)"),
    ],
)
def test_the_command_in_the_first_lines(file, number, status, said, pack):
    result = check(commands(EXAMPLES / file)[number], pack)
    assert result.returncode == status, result.stderr
    assert said in result.stdout


def test_the_fused_kernel_in_every_profile(pack):
    options = [word for op in ("attention", "blocked_attention") for word in ("--op", op)]
    options += [word for profile in ("f32", "bf16", "f16") for word in ("--profile", profile)]
    result = check(["check", "--entry", "examples.fused_attention:run", *options], pack)
    assert result.returncode == 0, result.stdout
    assert "PASSED  18 of 21, 3 unsupported" in result.stdout


def test_the_fused_kernel_claims_just_what_it_supports():
    claims = json.loads((EXAMPLES / "fused_attention.claims.json").read_text())
    assert set(claims["ops"]) == {"attention", "blocked_attention"}
    excepted = [said["cases"] for claim in claims["ops"].values() for said in claim["except"]]
    for case in CASES.values():
        if case.op in claims["ops"]:
            lacking = {"bias", "sink", "keep", "softcap"} & {*case.inputs, *case.params}
            assert any(fnmatchcase(case.id, pattern) for pattern in excepted) == bool(lacking), case.id


def test_golden_rows_tell_the_slips_from_the_formula(capsys):
    golden_rows.main()
    printed = capsys.readouterr().out
    budgets = {name: float(budget) for name, budget in re.findall(r"(\w+) +budget (\S+)", printed)}
    assert 0 < budgets.pop("gemma_norm") <= 1
    assert set(budgets) == {"llama_norm", "eps_outside"}
    assert min(budgets.values()) > 10
    assert printed.strip() in PAGE


@pytest.fixture(scope="module")
def their_repo(tmp_path_factory):
    """A copy that sees refimpl only as an installed package."""
    return Path(shutil.copytree(EXAMPLES / "somebody_elses_repo", tmp_path_factory.mktemp("theirs") / "repo"))


def test_somebody_elses_tests_pass_and_can_fail(their_repo, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    passed = subprocess.run(run, cwd=their_repo, capture_output=True, text=True, check=False)
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert "3 passed" in passed.stdout
    kernel = their_repo / "rotary.py"
    right = kernel.read_text()
    kernel.write_text(right.replace("cos - x2", "cos + x2").replace("cos + x1", "cos - x1"))
    failed = subprocess.run(run, cwd=their_repo, capture_output=True, text=True, check=False)
    kernel.write_text(right)
    assert failed.returncode == 1
    assert "3 failed" in failed.stdout
    assert "rope.conjugate" in failed.stdout


@pytest.mark.parametrize("file", ["github.yml", "gitlab.yml"])
def test_the_ci_snippet_is_yaml_and_its_command_runs(file, their_repo, pack):
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    found = yaml.safe_load((their_repo / file).read_text(encoding="utf-8"))
    steps = (
        found["jobs"]["refimpl"]["steps"] if "jobs" in found else [{"run": line} for line in found["refimpl"]["script"]]
    )
    scripts = [step["run"] for step in steps if "run" in step]
    assert scripts[0] == 'pip install "refimpl[fixtures]"'
    (command,) = commands(their_repo / file)
    if "--junit" not in refimpl("check", "--help").stdout:
        pytest.skip("refimpl check has no --junit yet")
    assert f"refimpl {shlex.join(command)}" == scripts[1]
    result = check(command, pack, their_repo)
    assert result.returncode == 0, result.stderr
    assert "PASSED  1 of 4" in result.stdout
    assert (their_repo / command[command.index("--junit") + 1]).read_text().startswith("<?xml")


def test_every_example_is_on_the_page():
    names = [path.name for path in EXAMPLES.iterdir() if path.suffix == ".py" or path.is_dir()]
    assert [name for name in names if name not in PAGE and not name.startswith("__")] == []
