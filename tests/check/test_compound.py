"""Two mistakes in one function, and where each was seen."""

import re

import numpy as np
import pytest

from refimpl import ops
from refimpl.mistakes import MISTAKES, together
from refimpl.mistakes.issues import OWNERS, link

X = np.random.default_rng(3).normal(size=(2, 4, 6))
ANGLES = np.random.default_rng(4).normal(size=(4, 3))
INPUTS = {"x": X, "cos": np.cos(ANGLES), "sin": np.sin(ANGLES), "cot.y": X[::-1]}


def test_both_mistakes_are_made_forward_and_backward() -> None:
    op = together("rope.conjugate", "rope.layout_swapped")
    found = ops.run(op, {"interleaved": True}, INPUTS, ["y", "grad.x"])
    right = ops.run("rope", {"interleaved": False}, INPUTS | {"sin": -INPUTS["sin"]}, ["y", "grad.x"])
    for name, array in right.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-12)


def test_the_order_does_not_matter() -> None:
    one = together("attention.scale_none", "attention.lse_base_two")
    other = together("attention.lse_base_two", "attention.scale_none")
    inputs = {"q": X, "k": X[:, ::-1] * 2, "v": X + 1}
    for name in ("y", "lse"):
        found = [ops.run(op, {}, inputs, [name])[name] for op in (one, other)]
        np.testing.assert_array_equal(*found)


def test_what_cannot_be_put_together_is_refused() -> None:
    with pytest.raises(ValueError, match="a mistake of rope"):
        together("rope.conjugate", "alibi.sign")
    with pytest.raises(ValueError, match="two functions of their own"):
        together("rope.layout_mixed", "rope.layout_mixed")


def test_every_issue_has_an_address() -> None:
    seen = {issue for mistake in MISTAKES.values() for issue in mistake.seen}
    links = {link(issue) for issue in seen}
    assert all(re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+/issues/\d+", address) for address in links), links
    assert {issue.partition("#")[0] for issue in seen} >= OWNERS.keys() - {"x-transformers"}
    assert link("nobody-knows#7") == "nobody-knows#7"
