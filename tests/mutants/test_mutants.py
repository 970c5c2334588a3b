"""The mutation sweep itself, and a seeded sample of it."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from refimpl.attention.attention import attention_forward
from refimpl.check.entry import Request
from refimpl.fixtures.build import build
from refimpl.fixtures.read import read
from tests.mutants import judge as judging
from tests.mutants.judge import Question, judge, questions, reach
from tests.mutants.mutate import Mutant, applied, mutants
from tests.mutants.rules import changes, of_gradient
from tests.mutants.sources import function, functions, modules, only_validated, skipped
from tests.mutants.sweep import chosen, equivalents, sweep
from tests.mutants.tables import KINDS

OPS = ("alibi", "alibi_slopes", "dropout", "softcap")  # made in a moment, and alone in their files
FILES = ("bias/alibi.py", "embeddings/dropout.py", "attention/softcap.py")
ALL = [mutant for name in modules() for mutant in mutants(name)]


def one(module: str, after: str, statement: str = "") -> Mutant:
    """Return the first mutant of a file with that change."""
    return next(m for m in mutants(module) if m.after == after and statement in m.statement)


def softcap(tol: float, cap: float = 2.0) -> Question:
    """Return a question about y = cap · tanh(x / cap) with that tolerance."""
    x = np.asarray([[0.5, -1.5, 3.0]])
    want = {"y": cap * np.tanh(x / cap)}
    return Question("softcap/by_hand", "f64", Request("softcap", {"cap": cap}, {"x": x}, ["y"]), want,
                    {"y": np.full(x.shape, tol)}, {"y": tol})  # fmt: skip


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pack of a few ops."""
    out = tmp_path_factory.mktemp("mutants") / "fixtures"
    build(out, ops=OPS, jobs=1)
    return out


@pytest.mark.parametrize(
    ("source", "role", "wanted"),
    [
        ("x - y", "", {"x + y", "x", "y", "y - x"}),
        ("x @ y", "", {"x * y", "x", "y", "y @ x"}),
        ("(0,) + y", "", set()),
        ("-x", "", {"x"}),
        ("~x", "", {"x"}),
        ("x <= y", "", {"x < y", "x > y"}),
        ("x is None", "", {"x is not None"}),
        ("x and y", "", {"x or y", "x", "y"}),
        ("x if c else y", "", {"y if c else x"}),
        ("3", "", {"4", "2", "-3"}),
        ("-1", "", {"0", "-2", "1"}),
        ("-1", "axis", {"-2", "0"}),
        ("-1", "shape", set()),
        ("0.5", "", {"1.0", "-0.5", "1.5"}),
        ("False", "", {"True"}),
        ("None", "", set()),
        ("xp.cos(x)", "", {"xp.sin(x)", "x"}),
        ("xp.where(c, x, y)", "", {"xp.where(c, y, x)", "x", "y"}),
        ("f(x, y, k=2)", "", {"x", "f(y, x, k=2)", "f(x, y)"}),
        ("xp.maximum(x, y)", "", {"xp.minimum(x, y)", "x"}),
        ("range(n)", "", {"range(0 + 1, n)", "range(0, n - 1)"}),
        ("constant(x, like=y)", "", set()),
        ("Residuals(x, y)", "", set()),
        ("x.mT", "", {"x"}),
        ("x[..., None]", "", {"x", "x[None, ...]"}),
    ],
)
def test_changes_of_an_expression(source: str, role: str, wanted: set[str]) -> None:
    found = list(changes(ast.parse(source, mode="eval").body, role))
    assert {ast.unparse(new) for _, new in found} == wanted
    assert all(kind in KINDS for kind, _ in found)


def test_changes_of_a_statement() -> None:
    for source, wanted in (
        ("x = y + z", {"x = -(y + z)"}),
        ("x += y", {"x -= y", "pass"}),
        ("f(x)", {"pass"}),
        ("if x:\n    y = z", {"if not x:\n    y = z"}),
    ):
        statement = ast.parse(source).body[0]
        assert {ast.unparse(ast.fix_missing_locations(new)) for _, new in changes(statement, "")} == wanted


def test_changes_of_a_gradient() -> None:
    found = [ast.unparse(new) for _, new in of_gradient(ast.parse("a * b", mode="eval").body)]
    assert found == ["None if a * b is None else 0 * (a * b)", "None if a * b is None else -(a * b)"]


def test_validation_is_left_alone() -> None:
    for source in ("require(x, 'x', 1, 2)", "_require_rows(x)", "raise ValueError(x)", "if x:\n    require_mask(x)",
                   "for n in x:\n    require(n)", "'text'"):  # fmt: skip
        assert skipped(ast.parse(source).body[0])
    assert not skipped(ast.parse("if x:\n    require(x)\n    y = x").body[0])
    tree = ast.parse("def f(x):\n    fits = x > 1\n    y = x\n    require(fits, 'x', x, 1)\n    return y").body[0]
    assert isinstance(tree, ast.FunctionDef)
    assert only_validated(tree) == {"fits"}
    assert not any("require" in mutant.statement for mutant in ALL)


def test_every_function_and_kind_has_mutants() -> None:
    assert len(ALL) > 6000
    assert len({mutant.key for mutant in ALL}) == len(ALL)
    assert set(KINDS) == {mutant.kind for mutant in ALL}
    constant_alone = {("attention/heads.py", "repeat_heads")}
    met = {(mutant.module, mutant.function) for mutant in ALL} | constant_alone
    assert {(name, f) for name in modules() for f in functions(name)} <= met


def test_a_mutant_reaches_every_importer_and_is_undone() -> None:
    q = np.random.default_rng(5).normal(size=(2, 3, 5))
    right = attention_forward(q, q + 1, q - 1)[0].y
    with applied(one("attention/softmax.py", "xp.max(e, axis=-1, keepdims=True)")):
        assert not np.allclose(attention_forward(q, q + 1, q - 1)[0].y, right)
    np.testing.assert_array_equal(attention_forward(q, q + 1, q - 1)[0].y, right)


def test_a_default_is_changed_and_put_back() -> None:
    forward = function("attention/attention.py", "attention_forward")
    with applied(one("attention/attention.py", "1.0", "default of p")):
        assert forward.__kwdefaults__["p"] == 1.0
    assert forward.__kwdefaults__["p"] == 0.0


def test_verdicts() -> None:
    uncapped = one("attention/softcap.py", "x / limit", "tanh = xp.tanh")  # off by 1.19 where x is 3
    assert judge(uncapped, [softcap(1e-15)]).verdict == "separated"
    assert judge(uncapped, [softcap(0.5)]).verdict == "narrow"
    assert judge(uncapped, [softcap(0.5)]).budget == pytest.approx(2 * (3 - 2 * np.tanh(1.5)))
    assert judge(uncapped, [softcap(2.0)]).verdict == "survived"
    assert judge(uncapped, [softcap(2.0), softcap(1e-15)]).verdict == "separated"


def test_an_endless_loop_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "SECONDS", 0.2)
    documents = np.asarray([3, 3, 5, 5, 5])
    request = Request("positions_in_documents", {}, {"documents": documents}, ["y"])
    question = Question("by_hand", "f64", request, {"y": np.asarray([0, 1, 0, 1, 2])}, {}, {"y": 0.0})
    assert judge(one("embeddings/position_rules.py", "2", "reach = 2 * reach"), [question]).verdict == "hung"
    behind = one("embeddings/position_rules.py", "first + t", "return first + t")
    assert judge(behind, [question]).verdict == "separated"


def test_a_case_less_is_a_survivor_more(pack: Path) -> None:
    asked = questions(read(pack).cases, "f32")
    met = reach(asked)["bias/alibi.py", "alibi_forward"]
    assert [question.id for question in met] == [question.id for question in asked if question.request.op == "alibi"]
    behind_and_ahead = one("bias/alibi.py", "i - j", "steps = ")  # no absolute value
    alike = [
        question for question in met if question.request.params["S"] <= question.request.params.get("q_offset", 0) + 1
    ]
    assert judge(behind_and_ahead, met).verdict == "separated"
    assert judge(behind_and_ahead, alike).verdict == "survived"
    assert 0 < len(alike) < len(met)
    assert judge(one("bias/alibi.py", "steps", "return (slopes"), met).verdict == "form"  # int64 · float32 is float64
    assert judge(one("bias/alibi.py", "slopes[None, :, None]"), met).verdict == "raised"


def test_a_sample_is_caught(pack: Path) -> None:
    places = chosen(FILES, 60, seed=7)
    seen: Counter[str] = Counter()
    outcome = sweep(places, pack, "f32", 1, lambda module: seen.update([module]), complete=False)
    assert outcome.survivors == outcome.caught_after_all == outcome.stale == []
    assert sum(seen.values()) == len(outcome.found) == 60
    assert seen.keys() == set(FILES)


def test_samples_repeat() -> None:
    assert chosen(FILES, 9, seed=1) == chosen(FILES, 9, seed=1) != chosen(FILES, 9, seed=2)
    assert len(chosen((), None, seed=0)) == len(ALL)


def test_equivalents_are_mutants_with_a_reason() -> None:
    keys = {mutant.key for mutant in ALL}
    for profile in ("f64", "f32"):
        listed = equivalents(profile)
        assert sorted(listed.keys() - keys) == []
        assert all(entry.reason.endswith(".") for entry in listed.values())
