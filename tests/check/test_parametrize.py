"""`refimpl.check.cases` in somebody's test file."""

import json
from pathlib import Path

import numpy as np
import pytest

import refimpl.check
from refimpl.check.parametrize import CheckCase
from refimpl.fixtures.errors import FixtureError
from tests.check import adapters

pytest_plugins = ["pytester"]


@pytest.fixture
def case(folder: Path) -> CheckCase:
    half_split, interleaved = refimpl.check.cases(op="rope", profile="f32", fixtures=folder)
    assert [str(half_split), str(interleaved)] == ["rope/half_split-f32", "rope/interleaved-f32"]
    return interleaved


def test_a_case_gives_what_there_is_to_compute(case: CheckCase) -> None:
    assert (case.id, case.op, case.profile, case.params) == ("rope/interleaved", "rope", "f32", {})
    assert set(case.inputs) == {"x", "cos", "sin", "cot.y"}
    assert case.inputs["x"].dtype == np.float32
    assert case.want == ["y", "grad.x", "grad.cos", "grad.sin"]
    assert case.expected["y"].dtype == np.float64
    assert "interleaved" in repr(case)
    assert case.comment


def test_right_outputs_match(case: CheckCase) -> None:
    case.assert_matches(adapters.right(case.op, case.params, case.inputs, case.want))


def test_wrong_outputs_raise_the_report_with_the_name_of_the_mistake(case: CheckCase) -> None:
    with pytest.raises(AssertionError) as error:
        case.assert_matches(adapters.swapped(case.op, case.params, case.inputs, case.want))
    told = str(error.value)
    assert told.startswith("rope/interleaved-f32\n")
    assert "✗ rope.layout_swapped  other convention" in told
    assert "budget inf" in told


def test_a_missing_output_raises(case: CheckCase) -> None:
    outputs = adapters.right(case.op, case.params, case.inputs, case.want)
    del outputs["grad.sin"]
    with pytest.raises(AssertionError, match=r"grad\.sin is missing"):
        case.assert_matches(outputs)


def test_inputs_are_new_at_every_access(case: CheckCase) -> None:
    case.inputs["x"][...] = 0
    assert case.inputs["x"].all()


def test_forward_wants_no_gradients(folder: Path) -> None:
    case = refimpl.check.cases(op="rope", fixtures=folder, forward=True)[0]
    assert case.want == ["y"]
    assert set(case.inputs) == {"x", "cos", "sin"}
    case.assert_matches(adapters.right(case.op, case.params, case.inputs, case.want))


def test_without_an_op_all_cases_that_offer_the_profile_come(folder: Path) -> None:
    wide = refimpl.check.cases(profile="f64", fixtures=folder)
    narrow = refimpl.check.cases(profile="f16", fixtures=folder)
    assert {case.id for case in wide} - {case.id for case in narrow} == {"softmax/full_mantissa"}


def test_no_case_is_an_error_and_not_an_empty_list(folder: Path, wide: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="profile: got 'f16', which no case of softmax offers"):
        refimpl.check.cases(op="softmax", profile="f16", fixtures=wide)
    with pytest.raises(ValueError, match=r"op: got 'ropes'; allowed: .*'rope'"):
        refimpl.check.cases(op="ropes", fixtures=folder)
    with pytest.raises(ValueError, match="profile: got 'fp32'; allowed: 'f64', 'f32', 'bf16', 'f16'"):
        refimpl.check.cases(op="rope", profile="fp32", fixtures=folder)
    with pytest.raises(FixtureError, match="no case of alibi"):
        refimpl.check.cases(op="alibi", fixtures=folder)
    with pytest.raises(FixtureError):
        refimpl.check.cases(op="alibi", fixtures=tmp_path)


@pytest.fixture
def claims(tmp_path: Path) -> Path:
    ops = {"rope": {"profiles": ["f32"], "gradients": ["x"], "conventions": None}}
    known = [{"cases": "rope/interleaved", "reason": "pairs"}]
    written = {"format": 1, "implementation": {"name": "mine"}, "ops": ops, "known_failures": known}
    (tmp_path / "claims.json").write_text(json.dumps(written))
    return tmp_path / "claims.json"


def test_claims_leave_out_what_is_not_claimed_and_know_what_fails(folder: Path, claims: Path) -> None:
    half_split, interleaved = refimpl.check.cases(fixtures=folder, claims=claims)
    assert half_split.want == interleaved.want == ["y", "grad.x"]
    for case in (half_split, interleaved):
        right = adapters.right(case.op, case.params, case.inputs, case.want)
        swapped = adapters.swapped(case.op, case.params, case.inputs, case.want)
        if case is half_split:
            case.assert_matches(right)
            case.assert_matches(swapped)  # of the same layout: nothing is swapped
        else:
            with pytest.raises(refimpl.check.Unsupported, match="known failure: pairs"):
                case.assert_matches(swapped)
            with pytest.raises(AssertionError, match="a known failure passes  pairs"):
                case.assert_matches(right)
    with pytest.raises(ValueError, match=r"claims: .*claims\.json claims no case of linear in f32"):
        refimpl.check.cases(op="linear", fixtures=folder, claims=claims)


def test_what_is_unsupported_is_skipped(folder: Path, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        f"""
        import pytest
        import refimpl.check
        from tests.check import adapters

        @pytest.mark.parametrize("case", refimpl.check.cases(profile="f64", fixtures={str(folder)!r}), ids=str)
        def test_all(case):
            case.assert_matches(adapters.rope_only(case.op, case.params, case.inputs, case.want))
        """
    )
    result = pytester.runpytest_inprocess("-rs", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=2, skipped=9)
    result.stdout.fnmatch_lines(["*SKIPPED*: linear"])


def test_in_a_test_file_of_its_own(folder: Path, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        f"""
        import pytest
        import refimpl.check
        from tests.check import adapters

        @pytest.mark.parametrize("case", refimpl.check.cases(op="rope", fixtures={str(folder)!r}), ids=str)
        @pytest.mark.parametrize("kernel", [adapters.right, adapters.swapped])
        def test_rope(case, kernel):
            case.assert_matches(kernel(case.op, case.params, case.inputs, case.want))
        """
    )
    result = pytester.runpytest_inprocess("-v", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["*test_rope*rope/half_split* PASSED*", "E*rope.layout_swapped  other convention"])
    assert "def assert_matches" not in result.stdout.str()
