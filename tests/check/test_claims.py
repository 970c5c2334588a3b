"""What is claimed is held to, what is not is neither asked about nor passed."""

import io
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.console import Console

from refimpl.check.claims import load_claims
from refimpl.check.command import run_check
from refimpl.check.options import Options
from refimpl.fixtures import canonical

RIGHT = "tests.check.adapters:right"
ROPE = {"profiles": ["f32", "f64"], "gradients": True, "conventions": None}


@pytest.fixture
def claims(folder: Path, tmp_path: Path) -> Any:
    """Run the command with these claims, and return its exit status, what it printed, and the JSON of its report."""

    def run(
        claimed: Any, known: Any = (), entry: str = RIGHT, name: str = "Mine", **options: Any
    ) -> tuple[int, str, dict[str, Any]]:
        written = {"format": 1, "implementation": {"name": name, "version": "2"}, "ops": claimed}
        (tmp_path / "claims.json").write_text(json.dumps(written | {"known_failures": list(known)}))
        stream = io.StringIO()
        options = {"fixtures": folder, "claims": tmp_path / "claims.json", "json": tmp_path / "report.json"} | options
        status = run_check(Options(entry, **options), Console(file=stream, width=110))
        report = json.loads((tmp_path / "report.json").read_text()) if (tmp_path / "report.json").exists() else {}
        assert not report or canonical.validate("report", report, "refimpl.check") is None
        return status, stream.getvalue(), report

    return run


def by_status(report: dict[str, Any]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for v in report["verdicts"]:
        found.setdefault(v["status"], set()).add(f"{v['id']} {v['profile']}")
    return found


def test_only_what_is_claimed_is_asked_about(claims: Any) -> None:
    status, text, report = claims({"rope": ROPE})
    assert status == 0
    assert "as Mine 2 claims" in text
    assert "PASSED  4 of 4, 38 not claimed" in text
    assert "\nnot claimed: 38 cases of 9 ops\n" in text
    rows = [line.split() for line in text.splitlines()]
    assert [row[:4] for row in rows if row[-1:] == ["0"]] == [["rope", "f64", "2", "2"], ["f32", "2", "2", "·"]]
    assert by_status(report)["passed"] == {
        f"rope/{slug} {p}" for slug in ("half_split", "interleaved") for p in ROPE["profiles"]
    }
    (line,) = (line for line in report["table"] if (line["op"], line["profile"]) == ("rope", "bf16"))
    assert (line["cases"], line["passed"], line["unclaimed"]) == (0, 0, 2)


def test_what_is_not_claimed_counts_nowhere(claims: Any, tmp_path: Path) -> None:
    ops = {"rope": ROPE | {"except": [{"cases": "rope/half*", "reason": "pairs"}]}}
    status, text, report = claims(ops, entry="tests.check.adapters:nan", junit=tmp_path / "report.xml")
    assert status == 1
    assert "rope  2 of 2 fail" in text.splitlines()
    assert text.splitlines()[-1].startswith("FAILED  2 of 2, 40 not claimed: ")
    tests = ElementTree.parse(tmp_path / "report.xml").getroot()
    assert [test.get("name") for test in tests.iter("testcase")] == ["rope/interleaved-f64", "rope/interleaved-f32"]
    assert len(report["verdicts"]) == 42


def test_gradients_conventions_and_exceptions_narrow_a_claim(claims: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.check import adapters

    wanted = []

    def run(op: str, params: Any, inputs: Any, want: list[str]) -> Any:
        wanted.append((op, tuple(want)))
        return adapters.right(op, params, inputs, want)

    monkeypatch.setattr(adapters, "watched", run, raising=False)
    ops = {
        "rope": ROPE
        | {"profiles": ["f32"], "gradients": ["x"], "conventions": ["rope.interleaved", "rope.tables_half_width"]},
        "softmax": ROPE
        | {"profiles": ["f32"], "gradients": False, "except": [{"cases": "softmax/full_*", "reason": "24 bits"}]},
    }
    status, _, report = claims(ops, entry="tests.check.adapters:watched", ops=["rope", "softmax"], profiles=["f32"])
    assert status == 0
    assert wanted == [("rope", ("y", "grad.x")), ("softmax", ("y",))]
    reasons = {v["id"]: v["claim"] for v in report["verdicts"] if v["status"] == "not claimed"}
    assert reasons == {"rope/half_split": "rope.half_split not claimed", "softmax/full_mantissa": "24 bits"}


def test_a_claimed_case_that_is_unsupported_fails(claims: Any) -> None:
    status, text, _ = claims({"rope": ROPE}, entry="tests.check.adapters:declines", profiles=["f32"])
    assert status == 1
    assert "✗ claimed, but unsupported  rope" in text


def test_a_known_failure_is_told_and_fails_nothing(claims: Any) -> None:
    known = [{"cases": "rope/inter*", "reason": "swapped", "seen": "https://example.org/1"}]
    swapped = "tests.check.adapters:swapped"
    status, text, report = claims({"rope": ROPE}, known, swapped, profiles=["f32"])
    assert status == 0
    assert "PASSED  1 of 2, 1 known failure, 9 not claimed" in text
    (v,) = (v for v in report["verdicts"] if v["status"] == "known failure")
    assert (v["id"], v["claim"]) == ("rope/interleaved", "swapped (https://example.org/1)")


def test_a_known_failure_that_passes_fails(claims: Any) -> None:
    known = [{"cases": "rope/inter*", "reason": "swapped", "profiles": ["f64"]}]
    status, text, _ = claims({"rope": ROPE}, known)
    assert status == 1
    assert "✗ a known failure passes  swapped" in text
    assert "FAILED  1 of 4, 38 not claimed" in text


@pytest.mark.parametrize(
    ("results", "status", "said"),
    [
        (["y", "grad.x", "grad.cos", "grad.sin"], 0, "1 known failure"),
        (["grad.x"], 1, "rope.layout_swapped (1)"),  # the others fail as well
        (None, 0, "1 known failure"),
    ],
)
def test_a_known_failure_may_name_its_results(claims: Any, results: Any, status: int, said: str) -> None:
    known = [{"cases": "rope/interleaved", "reason": "swapped"} | ({"results": results} if results else {})]
    got, text, _ = claims({"rope": ROPE}, known, "tests.check.adapters:swapped", profiles=["f32"])
    assert got == status
    assert said in text


def test_a_crash_is_covered_only_where_no_results_are_named(claims: Any) -> None:
    for results, status in ({}, 0), ({"results": ["y"]}, 1):
        known = [{"cases": "rope/*", "reason": "no kernel"} | results]
        ops = {"rope": ROPE, "linear": ROPE}
        assert claims(ops, known, "tests.check.adapters:crashes", profiles=["f32"])[0] == status


def test_known_failures_of_everything_are_no_pass(claims: Any) -> None:
    known = [{"cases": "rope/*", "reason": "NaN"}]
    status, text, _ = claims({"rope": ROPE}, known, "tests.check.adapters:nan")
    assert status == 1
    assert "NOTHING CHECKED" in text


def test_a_breach_of_the_protocol_is_no_known_failure(claims: Any, monkeypatch: Any) -> None:
    from tests.check import adapters

    def more(op: str, params: Any, inputs: Any, want: list[str]) -> Any:
        found = adapters.swapped(op, params, inputs, want)
        return found | {"lse": found["y"]} if "x" in inputs and op == "rope" else found

    monkeypatch.setattr(adapters, "more", more, raising=False)
    known = [{"cases": "rope/interleaved", "reason": "swapped"}, {"cases": "rope/half_split", "reason": "?"}]
    status, text, _ = claims({"rope": ROPE, "linear": ROPE}, known, "tests.check.adapters:more", profiles=["f32"])
    assert status == 4
    assert "lse was not asked for" in text


@pytest.mark.parametrize(
    ("results", "forward", "status", "said"),
    [
        ([["y"], ["grad.x", "grad.cos", "grad.sin"]], False, 0, "1 known failure"),
        ([["y"], ["grad.x"]], False, 1, "rope.layout_swapped (1)"),  # two are in neither
        ([["y"], None], False, 0, "1 known failure"),
        ([["y"], ["grad.x"]], True, 0, "1 known failure"),  # gradients are not asked for
    ],
)
def test_entries_that_match_one_case_count_together(
    claims: Any, results: list[Any], forward: bool, status: int, said: str
) -> None:
    known = [
        {"cases": "rope/interleaved", "reason": f"r{i}"} | ({"results": some} if some else {})
        for i, some in enumerate(results)
    ]
    entry = "tests.check.adapters:swapped"
    got, text, _ = claims({"rope": ROPE}, known, entry, profiles=["f32"], forward=forward)
    assert (got, said in text) == (status, True), text


def test_each_result_that_is_known_to_fail_must(claims: Any, monkeypatch: Any) -> None:
    from tests.check import adapters

    wrong = adapters.altered(lambda name, x: x + x.dtype.type(1) if name == "y" else x)
    monkeypatch.setattr(adapters, "wrong_y", wrong, raising=False)
    known = [{"cases": "*", "reason": "y", "results": ["y"]}, {"cases": "rope/inter*", "reason": "dx"}]
    entry = "tests.check.adapters:wrong_y"
    more = {"cases": "rope/interleaved", "reason": "sines", "results": ["grad.sin"]}
    ops = {"rope": ROPE, "dropout": ROPE | {"gradients": False}}
    status, text, _ = claims({"rope": ROPE}, [*known, more], entry, profiles=["f32"])
    assert status == 1
    assert "✗ a known failure passes  sines" in text
    assert "FAILED  1 of" in text
    assert claims(ops, known, entry, profiles=["f32"])[1].splitlines()[-1].startswith("NOTHING CHECKED")


@pytest.mark.parametrize(("forward", "status"), [(True, 0), (False, 1)])
def test_a_known_failure_is_judged_only_where_what_fails_may_have_been_asked_for(
    claims: Any, forward: bool, status: int
) -> None:
    for known in ({"reason": "dx"}, {"reason": "dx", "results": ["grad.x"]}):
        assert claims({"rope": ROPE}, [{"cases": "rope/inter*"} | known], forward=forward)[0] == status
    unasked = {"cases": "rope/inter*", "reason": "dx", "results": ["grad.x"]}
    assert claims({"rope": ROPE | {"gradients": False}}, [unasked])[0] == 0


def test_results_that_are_right_while_others_are_wrong_are_no_known_failure(claims: Any, monkeypatch: Any) -> None:
    from tests.check import adapters

    wrong = adapters.altered(lambda name, x: x + x.dtype.type(1) if name == "y" else x)
    monkeypatch.setattr(adapters, "wrong_y", wrong, raising=False)
    known = [{"cases": "rope/interleaved", "reason": "dx", "results": ["grad.x"]}]
    status, text, _ = claims({"rope": ROPE}, known, "tests.check.adapters:wrong_y", profiles=["f32"])
    assert status == 1
    assert "FAILED  2 of 2" in text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ops": {"ropes": ROPE}}, ("ops", "'ropes'", "'rope'")),
        ({"ops": {"rope": ROPE | {"profiles": ["fp32"]}}}, ("ops/rope/profiles/0", "'fp32'")),
        ({"ops": {"rope": ROPE | {"gradients": ["q"]}}}, ("ops/rope/gradients", "'q'", "'x'")),
        ({"ops": {"rope": ROPE | {"conventions": ["alibi.full"]}}}, ("ops/rope/conventions", "'alibi.full'")),
        (
            {"ops": {"rope": ROPE | {"except": [{"cases": "rope/nil*", "reason": "r"}]}}},
            ("ops/rope/except", "'rope/nil*'"),
        ),
        ({"known_failures": [{"cases": "rope/nil*", "reason": "r"}]}, ("known_failures", "'rope/nil*'")),
        ({"known_failures": [{"cases": "ropes/*", "reason": "r"}]}, ("known_failures", "'ropes/*'")),
        ({"known_failures": [{"cases": "rope/*", "reason": "r", "results": ["z"]}]}, ("known_failures/results", "'z'")),
        ({"known_failures": [{"cases": "rope/*"}]}, ("known_failures/0", "reason")),
        ({"formats": 1}, ("formats",)),
        ({"ops": {}}, ("ops",)),
        ({"ops": None}, ("ops",)),
    ],
)
def test_usage(folder: Path, tmp_path: Path, capsys: Any, change: dict[str, Any], words: tuple[str, ...]) -> None:
    written = {"format": 1, "implementation": {"name": "Mine"}, "ops": {"rope": ROPE}} | change
    (tmp_path / "claims.json").write_text(json.dumps(written))
    assert run_check(Options(RIGHT, fixtures=folder, claims=tmp_path / "claims.json")) == 2
    told = capsys.readouterr().err
    assert told.startswith("refimpl check: --claims: ")
    assert [word for word in words if word not in told] == []


@pytest.mark.parametrize("text", ["{", "[" * 100_000, "\xff"])
def test_a_file_that_is_no_json_is_usage(tmp_path: Path, text: str) -> None:
    (tmp_path / "claims.json").write_bytes(text.encode("latin1"))
    with pytest.raises(ValueError, match="--claims: "):
        load_claims(tmp_path / "claims.json")
    with pytest.raises(ValueError, match="--claims: "):
        load_claims(tmp_path / "no_such_file.json")


def test_a_key_twice_is_usage(tmp_path: Path) -> None:
    (tmp_path / "claims.json").write_text('{"format": 1, "format": 1}')
    with pytest.raises(ValueError, match=r"--claims: .*'format' stands twice"):
        load_claims(tmp_path / "claims.json")


@pytest.mark.parametrize("text", ["\x1b[2J", "\ud800", "\x00"])
def test_texts_of_a_claims_file_are_printable(claims: Any, capsys: Any, text: str) -> None:
    known = [{"cases": "rope/interleaved", "reason": f"r{text}", "seen": f"s{text}"}]
    ops = {"rope": ROPE, "linear": ROPE | {"except": [{"cases": "*", "reason": f"e{text}"}]}}
    status, told, report = claims(ops, known, "tests.check.adapters:swapped", name=f"n{text}", ops=["rope"])
    shown = text.replace(text[0], "\ufffd")
    assert status == 0
    assert f"as n{shown} 2 claims" in told
    assert report["options"]["claims"] == f"n{shown} 2"
    assert {v["claim"] for v in report["verdicts"] if "claim" in v} >= {f"r{shown} (s{shown})"}
    assert claims({text: ROPE})[0] == 2
    (told + capsys.readouterr().err).encode()
    assert text[0] not in told


def test_fewer_cases_than_claimed_is_a_matter_of_the_fixtures(claims: Any, capsys: Any) -> None:
    assert claims({"rope": ROPE, "alibi": ROPE})[:2] == (3, "")
    assert "alibi is claimed, but no case of it is here" in capsys.readouterr().err
    assert claims({"rope": ROPE, "alibi": ROPE}, ops=["rope"])[0] == 0


def test_nothing_claimed_of_what_is_chosen_is_no_pass(claims: Any) -> None:
    status, text, _ = claims({"rope": ROPE}, ops=["linear"])
    assert status == 1
    assert "NOTHING CHECKED" in text
