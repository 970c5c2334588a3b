# pytest examples/somebody_elses_repo
import pytest
from rotary import apply_rope

import refimpl.check

CASES = refimpl.check.cases(op="rope", profile="f32", forward=True)
HALVES = [case for case in CASES if case.params == {"interleaved": False}]


@pytest.mark.parametrize("case", HALVES, ids=str)
def test_rope(case):
    case.assert_matches({"y": apply_rope(**case.inputs)})
