"""How the report reads."""

import io
import math
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from refimpl.check.figures import apart, plural, short
from refimpl.check.report import SHOWN, plain, print_report
from refimpl.check.run import judge_all, pairs
from refimpl.check.verdict import Verdict, judge
from refimpl.fixtures.read import LoadedCase
from refimpl.mistakes import MISTAKES
from tests.check import adapters

Loaded = dict[str, LoadedCase]


def report(verdicts: list[Verdict], width: int = 80, **options: Any) -> str:
    stream = io.StringIO()
    print_report(Console(file=stream, width=width), verdicts, title="my.kernel:run against fixtures", **options)
    return stream.getvalue()


def swapped(loaded: Loaded) -> list[Verdict]:
    return judge_all(pairs([loaded["rope/interleaved"], loaded["rope/half_split"]]), adapters.swapped)


def test_a_failure_says_all_that_an_author_needs(loaded: Loaded) -> None:
    text = report(swapped(loaded))
    mistake, case = MISTAKES["rope.layout_swapped"], loaded["rope/interleaved"]
    verdict = judge(case, "f64", adapters.swapped)
    y = verdict.outputs["y"]
    got, want = apart(y.got, y.want)
    assert y.at is not None
    for line in (
        "rope  4 of 8 fail",
        "  ✗ rope.layout_swapped  other convention",
        "    yours    pairs (i, i + D/2)",
        "    right    pairs (2i, 2i + 1)",
        "    seen     https://github.com/kvark/meganeura/issues/38,",
        "             https://github.com/huggingface/nanotron/issues/427",
        "    rope/interleaved  f64  also f32, bf16, f16",
        f"      y         got {got}  want {want}  tol {short(y.tol)}  at [{', '.join(map(str, y.at))}]",
        f"                budget inf  × honest {short(y.honest)}  cosine {y.cosine:.3f}  {y.out} of 180 out",
        "FAILED  4 of 8: rope.layout_swapped (4)",
    ):
        assert line in text.splitlines(), line
    for long in (mistake.effect, case.description["comment"]):
        assert long in " ".join(text.split())


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_longer_than_the_terminal(loaded: Loaded, width: int) -> None:
    lines = report(swapped(loaded), width).splitlines()
    assert max(map(len, lines)) <= width


def test_lines_below_the_table_end_without_blanks(loaded: Loaded) -> None:
    lines = report(swapped(loaded)).splitlines()
    below = lines[next(i for i, line in enumerate(lines) if line.startswith("rope  ")) :]
    assert [line for line in below if line != line.rstrip()] == []


def test_the_table_counts_by_op_and_profile(loaded: Loaded) -> None:
    cells = [line.split() for line in report(judge_all(pairs(loaded.values()), adapters.rope_only)).splitlines()]
    assert ["rope", "f64", "2", "2", "·", "·", "0", "0"] in cells
    assert ["linear", "f64", "1", "·", "·", "1", "–", "–"] in cells
    assert ["f16", "1", "·", "·", "1", "–", "–"] in cells
    headings = next(line for line in cells if line[:2] == ["op", "profile"])
    assert "unsupported" in headings
    assert "suspicious" not in headings


def test_only_some_failures_are_shown_and_the_rest_counted(loaded: Loaded) -> None:
    (verdict,) = judge_all([(loaded["rope/interleaved"], "f32")], adapters.swapped)
    many = [verdict._replace(id=f"rope/case_{i}") for i in range(SHOWN + 9)]
    text = report(many)
    assert text.count("× honest") == 1 + 4 * SHOWN  # the heading, and four outputs a case
    assert "… and 9 more cases: rope/case_3," in text
    assert "rope/case_9" not in text
    assert f"FAILED  {SHOWN + 9} of {SHOWN + 9}: rope.layout_swapped ({SHOWN + 9})" in text


def test_missing_gradients_are_told_with_the_way_around_once(loaded: Loaded) -> None:
    some = pairs([loaded["rope/interleaved"], loaded["linear/square_weight"]])
    hint = "gradients are missing: return them (or --forward, to ask for outputs alone)"
    outputs = adapters.altered(lambda name, x: None if name.startswith("grad.") else x)
    assert report(judge_all(some, outputs)).splitlines().count(hint) == 1
    gradients = adapters.altered(lambda name, x: x if name.startswith("grad.") else None)
    assert hint not in report(judge_all(some, gradients))


def test_breaches_in_no_case_alone_are_told_up_to_a_number(loaded: Loaded) -> None:
    some = judge_all([(loaded["rope/interleaved"], "f32")], adapters.right)
    text = report(some, breaches=["twice", "twice", *(f"breach {i}" for i in range(9))])
    assert "protocol broken  twice (2 ×)" in text
    assert "breach 6" in text
    assert "breach 7" not in text
    assert "… and 2 more, which --json holds" in text


def test_markup_in_foreign_text_is_shown_as_it_is(loaded: Loaded) -> None:
    def crashes(*args: Any) -> None:
        print("[red]printed[/red]")
        raise RuntimeError("[bold]shape[/bold] [/oops]")

    text = report([judge(loaded["rope/interleaved"], "f32", crashes)])
    assert "[bold]shape[/bold] [/oops]" in text
    assert "printed: [red]printed[/red]" in text


def test_what_is_right_is_said_beside_what_is_wrong(loaded: Loaded) -> None:
    wrong = adapters.altered(lambda name, x: x * x.dtype.type(3) if name == "grad.x" else x)
    text = plain(judge(loaded["rope/interleaved"], "f32", wrong))
    assert "right: y, grad.cos, grad.sin" in text
    assert "only gradients differ" in text
    assert "grad.x: 3 × the right one" in text


def test_a_wrong_dtype_is_its_own_cause(loaded: Loaded) -> None:
    text = plain(judge(loaded["rope/interleaved"], "f32", adapters.altered(lambda name, x: x.astype(np.float64))))
    assert "✗ wrong dtype" in text
    assert "grad.cos  dtype float64, want float32; the values are right\n" in text
    assert "budget" not in text


def test_plain_text_holds_no_escape_codes(loaded: Loaded) -> None:
    assert "\x1b" not in plain(judge(loaded["rope/interleaved"], "f32", adapters.nan))


SHORT = {0.0: "0", 0.25: "0.25", 12.3456: "12.3", 4321.0: "4321", 123456.0: "1.2e+05", 1.5e-7: "1.5e-07"}


@pytest.mark.parametrize(("x", "text"), [*SHORT.items(), (math.inf, "inf"), (math.nan, "–")])
def test_short(x: float, text: str) -> None:
    assert short(x) == text


def test_two_numbers_are_written_until_they_differ() -> None:
    assert apart(0.5, -0.25) == ("0.5", "-0.25")
    assert apart(1.0000001, 1.0) == ("1.0000001", "1")
    got, want = apart(1.0 + 2**-52, 1.0)
    assert got != want
    assert apart(math.nan, 1.0) == ("nan", "1")
    assert apart(-math.inf, 1e308) == ("-inf", "1e+308")
    assert apart(1.7e308, -1.7e308) == ("1.7e+308", "-1.7e+308")


def test_plural() -> None:
    assert (plural(1, "case"), plural(2, "case")) == ("1 case", "2 cases")
