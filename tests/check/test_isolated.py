"""A program that answers right passes; one that does wrong is told so, and all its other answers are still judged."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from refimpl.check.causes import cause
from refimpl.check.children import package_environment
from refimpl.check.command import PROTOCOL, status
from refimpl.check.controls import expected
from refimpl.check.entry import Answer
from refimpl.check.exchange import stem
from refimpl.check.isolated import GIVE_UP, Command, answers
from refimpl.check.limits import Limits
from refimpl.check.process import CannotStart
from refimpl.check.record import record
from refimpl.check.run import assess_all, pairs
from refimpl.check.tensors import write_tensors
from refimpl.check.verdict import Verdict
from refimpl.fixtures import canonical
from refimpl.fixtures.read import LoadedCase

PROGRAM = str(Path(__file__).with_name("programs.py"))
LIMITS = Limits(seconds=20, file_bytes=1 << 23, folder_bytes=1 << 25)
SHORT = LIMITS._replace(seconds=2)
VICTIM = "rope/interleaved"
Loaded = dict[str, LoadedCase]
pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups and limits")


class Checked(NamedTuple):
    """What became of a run."""

    verdicts: dict[str, Verdict]
    breaches: list[str]

    @property
    def not_passed(self) -> list[str]:
        return [id for id, v in self.verdicts.items() if v.status != "passed"]


@pytest.fixture(scope="session")
def prepared(loaded: Loaded, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The right answers to all cases in all profiles; not to be changed."""
    out = tmp_path_factory.mktemp("answers")
    for case, profile in pairs(loaded.values()):
        (out / profile).mkdir(exist_ok=True)
        write_tensors(out / profile / f"{stem(case.id)}.safetensors", expected(case, profile))
    return out


def check(loaded: Loaded, folder: Path, plan: dict[str, str], profile: str = "f32", limits: Limits = LIMITS) -> Checked:
    """Run the program and judge what it says, in one profile."""
    breaches: list[str] = []
    words = [sys.executable, PROGRAM, str(folder), json.dumps(plan)]
    chosen = pairs(loaded.values(), [profile])
    verdicts = assess_all(chosen, answers(chosen, Command(words, limits, breaches.append)))
    return Checked({v.id: v for v in verdicts}, breaches)


@pytest.mark.parametrize("profile", ["f64", "f32", "bf16", "f16"])
def test_right_answers_pass_in_every_dtype(loaded: Loaded, prepared: Path, profile: str) -> None:
    found = check(loaded, prepared, {}, profile)
    assert (found.not_passed, found.breaches) == ([], [])
    assert len(found.verdicts) > 8


CRASHES = {
    "aborts": ("crash", "ended by signal 6 (SIGABRT)", "out of shared memory"),
    "exits": ("crash", "ended with status 7", ""),
    "half_a_line": ("crash", "ended with status 1", ""),
    "prints_garbage": ("crash", "ended with status 3", "!"),
    "a_file_beyond_the_limit": ("crash", "ended by signal 25 (SIGXFSZ): a file of more than 8 MiB", ""),
    "takes_memory": ("crash", "ended with status 1", "MemoryError"),
}


@pytest.mark.parametrize("how", CRASHES)
def test_a_crash_is_blamed_on_one_case(loaded: Loaded, prepared: Path, how: str) -> None:
    found = check(loaded, prepared, {VICTIM: how}, limits=LIMITS._replace(memory_bytes=1 << 31))
    assert (found.not_passed, found.breaches) == ([VICTIM], [])
    answer = found.verdicts[VICTIM].answer
    status, detail, printed = CRASHES[how]
    assert (answer.status, answer.detail) == (status, detail)
    assert printed in answer.printed
    assert len(answer.printed) <= 2000
    assert "\x1b" not in answer.printed


def test_a_hang_is_ended_and_blamed_on_one_case(loaded: Loaded, prepared: Path) -> None:
    found = check(loaded, prepared, {VICTIM: "hangs"}, limits=SHORT)
    assert (found.not_passed, found.breaches) == ([VICTIM], [])
    assert found.verdicts[VICTIM].answer == Answer("hang", detail="said nothing for 2 s: stopped")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="reads /proc")
def test_what_a_program_leaves_behind_is_ended(loaded: Loaded, prepared: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(prepared, tmp_path / "answers")
    found = check(loaded, folder, {VICTIM: "leaves_a_child"})
    assert (found.not_passed, found.breaches) == ([], [])
    child = int((folder / "child").read_text())
    for _ in range(100):
        state = Path(f"/proc/{child}/stat")
        if not state.exists() or state.read_text().split()[2] == "Z":
            return
        time.sleep(0.05)
    pytest.fail(f"process {child} lives")


def test_a_folder_that_grows_is_stopped(loaded: Loaded, prepared: Path) -> None:
    found = check(loaded, prepared, {VICTIM: "many_files"})
    assert found.not_passed == [VICTIM]
    assert "into OUT, where 32 MiB are allowed: stopped" in found.verdicts[VICTIM].answer.detail
    assert "OUT holds 0.bin, 1.bin, 10.bin, …, which belongs to no case" in found.breaches


PROBLEMS = {
    "softmax/masked_row": ("a_huge_file", "4 MiB, where 64.9 KiB are more than enough: not read"),
    "rope/half_split": ("a_link", "a symbolic link, want a regular file"),
    "rope/interleaved": ("a_pipe", "a pipe, want a regular file"),
    "linear/square_weight": ("a_folder", "a folder, want a regular file"),
    "attention/gqa_6_2": ("two_lines", "results.jsonl has 2 lines for it"),
    "sinusoidal/fractional": ("no_file", "missing"),
    "rotary_embedding/chunk": ("a_header_of_exabytes", "not a safetensors file"),
    "token_embedding/repeated_ids": ("truncated", "not a safetensors file"),
    "dropout/everything_dropped": ("deletes_its_input", "it deleted its input dropout__everything_dropped.in"),
    "alibi_slopes/six_heads": ("changes_its_input", "it changed its input alibi_slopes__six_heads.in"),
}


def test_files_that_are_not_what_they_should_be(loaded: Loaded, prepared: Path) -> None:
    found = check(loaded, prepared, {id: how for id, (how, _) in PROBLEMS.items()})
    assert sorted(found.not_passed) == sorted(PROBLEMS)
    assert found.breaches == []
    for id, (_, said) in PROBLEMS.items():
        (problem,) = found.verdicts[id].answer.problems
        assert said in problem, id


def test_tensors_that_are_not_what_they_should_be(loaded: Loaded, prepared: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(prepared, tmp_path / "answers")

    def rewrite(id: str, change: dict[str, np.ndarray | None]) -> None:
        arrays = expected(loaded[id], "f32") | change
        kept = {name: array for name, array in arrays.items() if array is not None}
        write_tensors(folder / "f32" / f"{stem(id)}.safetensors", kept)

    y = expected(loaded["rope/half_split"], "f32")["y"]
    rewrite("rope/interleaved", {"grad.cos": None})
    rewrite("linear/square_weight", {"lse": np.zeros(3), "\x1b[2J": np.zeros(1)})
    rewrite("rope/half_split", {"y": y[0]})
    rewrite("softmax/masked_row", {"y": np.zeros(8, bool)})
    found = check(loaded, folder, {})
    assert sorted(found.not_passed) == [
        "linear/square_weight",
        "rope/half_split",
        "rope/interleaved",
        "softmax/masked_row",
    ]
    assert found.verdicts["rope/interleaved"].answer.problems == ("grad.cos is missing",)
    extra = found.verdicts["linear/square_weight"].answer.problems
    assert set(extra) == {"\ufffd[2J was not asked for", "lse was not asked for"}
    assert found.verdicts["rope/half_split"].outputs["y"].reason == f"shape {y.shape[1:]}, want {y.shape}"
    assert "shape (8,)" in found.verdicts["softmax/masked_row"].outputs["y"].reason


BREACHES = {
    "a_name_outside": "results.jsonl line 1: there is no case '../evil' in this request",
    "no_json_number": "results.jsonl line 1: not JSON: NaN is no JSON number",
    "no_utf8": "results.jsonl line 1: not JSON: 'utf-8' codec can't decode byte 0xff",
    "deep_json": "results.jsonl line 1: ",
    "a_key_twice": "results.jsonl line 1: not JSON: 'status' stands twice",
    "an_extra_field": "results.jsonl line 1: the file: Additional properties are not allowed ('budget' was unexpected)",
    "stops": None,
    "moves_out": "OUT is no folder any more",
    "a_link_to_itself_for_lines": "results.jsonl: a symbolic link, want a regular file",
}


@pytest.mark.parametrize("how", BREACHES)
def test_a_case_without_a_line_is_told_and_the_rest_goes_on(loaded: Loaded, prepared: Path, how: str) -> None:
    found = check(loaded, prepared, {VICTIM: how})
    assert found.not_passed == [VICTIM]
    (problem,) = found.verdicts[VICTIM].answer.problems
    assert problem == "the command ended without a line for it in results.jsonl"
    said = BREACHES[how]
    assert found.breaches == [] if said is None else any(breach.startswith(said) for breach in found.breaches)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("an_unknown_case", "there is no case 'rope/no_such_case' in this request"),
        ("a_stray_file", "OUT holds notes\ufffd.txt, which belongs to no case"),
        ("deletes_the_request", "it deleted request.json"),
        ("crashes_at_the_end", "after its last line it ended with status 5"),
    ],
)
def test_what_no_case_is_to_blame_for(loaded: Loaded, prepared: Path, how: str, said: str) -> None:
    found = check(loaded, prepared, {VICTIM: how})
    assert found.not_passed == []
    (breach,) = (breach for breach in found.breaches if not breach.endswith("answered it alone"))
    assert said in breach


def test_statuses_come_through(loaded: Loaded, prepared: Path) -> None:
    found = check(loaded, prepared, {VICTIM: "an_error", "rope/half_split": "unsupported"})
    assert found.verdicts[VICTIM].answer == Answer("error", detail="no kernel for \ufffd[2J this")
    assert found.verdicts["rope/half_split"].status == "unsupported"


def test_a_program_that_crashes_everywhere_is_given_up(loaded: Loaded, prepared: Path) -> None:
    found = check(loaded, prepared, dict.fromkeys(loaded, "exits"))
    said = [v.answer.detail for v in found.verdicts.values()]
    assert said.count("ended with status 7") == GIVE_UP
    last = list(found.verdicts.values())[-1]
    assert cause(last)[:2] == (
        "not run",
        f"the program answered nothing {GIVE_UP} times in a row; the last time it ended with status 7",
    )
    assert found.breaches == []


def test_what_was_not_run_is_told_as_that(loaded: Loaded, prepared: Path) -> None:
    found = check(loaded, prepared, dict.fromkeys(loaded, "stops"))
    last = list(found.verdicts.values())[-1]
    assert (last.status, last.answer.status, cause(last).name) == ("failed", "unasked", "not run")
    known = {"forward": False, "strict": False, "claims": None}
    manifest = {"suite": "s", "version": "1", "tree_sha256": "0" * 64}
    report = record(list(found.verdicts.values()), entry="e", manifest=manifest, options=known, status=4)
    assert canonical.validate("report", report, "refimpl.check") is None


@pytest.mark.parametrize(
    ("how", "said"),
    [("exits_in_company", "ended with status 7"), ("hangs_in_company", "said nothing for 2 s: stopped")],
)
def test_an_end_that_does_not_repeat_is_told(loaded: Loaded, prepared: Path, how: str, said: str) -> None:
    found = check(loaded, prepared, {VICTIM: how}, limits=SHORT)
    assert found.not_passed == []
    assert found.breaches == [f"{said} while asked for {VICTIM}; answered it alone"]
    assert status(list(found.verdicts.values()), False, found.breaches) == PROTOCOL


def test_a_program_that_answers_one_case_a_run_is_asked_about_each(loaded: Loaded, prepared: Path) -> None:
    last = list(loaded)[1:]
    found = check(loaded, prepared, dict.fromkeys(last, "exits"))
    assert found.verdicts[next(iter(loaded))].status == "passed"


def test_what_is_no_program_cannot_start(loaded: Loaded, tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"\0\1")
    (tmp_path / "data").chmod(0o755)
    for words in ([str(tmp_path / "nothing")], [str(tmp_path / "data")], [str(tmp_path)]):
        with pytest.raises(CannotStart, match="cannot be started: "):
            list(answers(pairs(loaded.values(), ["f32"]), Command(words, LIMITS, print)))


def test_nothing_is_left_in_the_temporary_folder(loaded: Loaded, prepared: Path, tmp_path: Path) -> None:
    os.environ["TMPDIR"], before = str(tmp_path), os.environ.get("TMPDIR")
    import tempfile

    tempfile.tempdir = None
    try:
        check(loaded, prepared, {VICTIM: "moves_out"})
        assert list(tmp_path.iterdir()) == []
    finally:
        tempfile.tempdir = None
        del os.environ["TMPDIR"]
        if before is not None:
            os.environ["TMPDIR"] = before


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="reads /proc")
def test_a_stopped_check_ends_the_program(folder: Path, tmp_path: Path) -> None:
    pid = str(tmp_path / "pid")
    program = f"import os, pathlib, time; pathlib.Path({pid!r}).write_text(str(os.getpid())); time.sleep(600)"
    words = ["-m", "refimpl", "check", "--fixtures", str(folder), "--", sys.executable, "-c", program]
    checking = subprocess.Popen([sys.executable, *words], env=package_environment(), stderr=subprocess.DEVNULL)
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert checking.poll() is None
        time.sleep(0.02)
    checking.send_signal(signal.SIGTERM)
    assert checking.wait(60) == 128 + signal.SIGTERM
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text()}").exists()
