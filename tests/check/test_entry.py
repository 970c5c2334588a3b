"""Loading an entry and asking it: whatever it does is told, and nothing of it reaches the checker."""

import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from refimpl.check import Unsupported
from refimpl.check.entry import PRINTED, Answer, Request, ask
from refimpl.check.load import EntryError, load


def asked(function: Any, **inputs: Any) -> Answer:
    return ask(function, Request("rope", {"base": 2.0, "list": [1]}, inputs, ["y", "grad.x"]))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return tmp_path


def test_finds_modules_in_the_current_directory(here: Path) -> None:
    (here / "found_here.py").write_text("def run(op, params, inputs, want):\n    return {'y': 1.0}\n")
    assert load("found_here:run")("rope", {}, {}, []) == {"y": 1.0}


def test_finds_methods_and_installed_modules(here: Path) -> None:
    from refimpl import ops

    (here / "with_class.py").write_text(
        "class Kernel:\n    @staticmethod\n    def run(op, params, inputs, want):\n        return {}\n"
    )
    assert load("refimpl.ops:run") is ops.run
    assert load("with_class:Kernel.run")("rope", {}, {}, []) == {}


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("refimpl.ops", "allowed: package.module:function, here refimpl.ops:run"),
        ("refimpl/ops.py:run", "here refimpl.ops:run"),
        (":run", "allowed: package.module:function"),
        ("no_such_module_here:run", "no module 'no_such_module_here' in"),
        ("refimpl.no_such_module:run", "no module 'refimpl.no_such_module'"),
        ("refimpl.ops:runn", "refimpl.ops has no 'runn'; its callables: run"),
        ("refimpl.ops:OPS", "refimpl.ops:OPS is a dict; allowed: a function run(op, params, inputs, want)"),
        ("refimpl.errors:require_row", "cannot be called as run(op, params, inputs, want)"),
    ],
)
def test_says_what_to_write_instead(name: str, told: str) -> None:
    with pytest.raises(EntryError) as error:
        load(name)
    assert told in str(error.value)


def test_names_what_is_in_the_directory(here: Path) -> None:
    (here / "my_adapter.py").write_text("")
    with pytest.raises(EntryError, match="found here: my_adapter"):
        load("my_adaptor:run")


@pytest.mark.parametrize("body", ["import no_such_dependency", "1 / 0", "raise SystemExit(3)"])
def test_a_module_that_breaks_while_it_is_imported_is_told_with_its_line(here: Path, body: str) -> None:
    name = f"breaks_{abs(hash(body))}"
    (here / f"{name}.py").write_text(f"x = 1\n{body}\n")
    with pytest.raises(EntryError, match=rf"importing {name}: .*\({name}\.py:2\)"):
        load(f"{name}:run")


def test_returns_what_can_be_read_as_an_array() -> None:
    answer = asked(lambda *_: {"y": [[1.0, 2.0]], "grad.x": np.float32(3)})
    assert (answer.status, answer.problems) == ("ok", ())
    assert answer.outputs["y"].shape == (1, 2)
    assert answer.outputs["grad.x"].dtype == np.float32


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        (None, "the result is None, want a dict of arrays with y, grad.x"),
        ([1, 2], "the result is a list"),
        ({"y": 1.0}, "grad.x is missing"),
        ({"y": 1.0, "grad.x": 2.0, "lse": 3.0}, "lse was not asked for"),
        ({"y": [[1.0], [1.0, 2.0]], "grad.x": 2.0}, "y is a list, which np.asarray cannot read"),
        ({"y": "1.0", "grad.x": 2.0}, "y is a str of dtype <U3, want an array of numbers"),
        ({"y": None, "grad.x": 2.0}, "y is None of dtype object, want an array of numbers"),
    ],
)
def test_breaches_of_the_protocol(result: Any, problem: str) -> None:
    problems = asked(lambda *_: result).problems
    assert len(problems) == 1
    assert problems[0].startswith(problem)


class Tensor:
    """Stands for an array of another library, which may refuse to become NumPy's."""

    def __init__(self, learned: bool) -> None:
        self.learned = learned

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        if self.learned:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
        return np.ones(2, np.float32)


def test_tensors_are_read_where_numpy_can_and_named_where_not() -> None:
    answer = asked(lambda *_: {"y": Tensor(False), "grad.x": Tensor(True)})
    assert answer.outputs["y"].dtype == np.float32
    (problem,) = answer.problems
    assert problem.startswith("grad.x is a Tensor, which np.asarray cannot read: Can't call numpy()")


def test_exceptions_become_answers_with_their_line() -> None:
    def divides(*_: Any) -> None:
        raise ZeroDivisionError("by [bold]zero[/bold]\nsecond line")

    def rejects(*_: Any) -> None:
        raise ValueError("odd width")

    def declines(*_: Any) -> None:
        raise Unsupported("no gradients")

    def leaves(*_: Any) -> None:
        sys.exit(0)

    assert asked(divides).status == "error"
    assert asked(divides).detail.startswith("ZeroDivisionError: by [bold]zero[/bold] (")
    assert f"test_entry.py:{divides.__code__.co_firstlineno + 1})" in asked(divides).detail
    assert (asked(rejects).status, asked(declines).status, asked(leaves).status) == ("rejected", "unsupported", "error")
    assert asked(declines).detail == "no gradients"


class Own(BaseException):
    """No Exception."""


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, GeneratorExit, Own])
def test_what_only_the_interpreter_raises_costs_one_case(raised: type[BaseException]) -> None:
    def breaks(*_: Any) -> None:
        raise raised("mine")

    answer = asked(breaks)
    assert (answer.status, answer.detail.partition(" (")[0]) == ("error", f"{raised.__name__}: mine")


def test_ctrl_c_is_not_the_implementations_to_keep() -> None:
    def interrupted(*_: Any) -> dict[str, Any]:
        with suppress(BaseException):
            signal.raise_signal(signal.SIGINT)
        return {"y": 1.0, "grad.x": 1.0}

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        asked(interrupted)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(("kind", "status"), [(RuntimeError, "error"), (Unsupported, "unsupported")])
def test_an_exception_that_cannot_be_written_is_told(kind: type[Exception], status: str) -> None:
    class Mute(kind):  # type: ignore[misc, valid-type]
        def __str__(self) -> str:
            raise LookupError

    def breaks(*_: Any) -> None:
        raise Mute

    answer = asked(breaks)
    assert answer.status == status
    assert "no message: its __str__ raises LookupError" in answer.detail


def test_the_interpreters_own_streams_are_kept() -> None:
    def closes(*_: Any) -> dict[str, Any]:
        sys.__stdout__.close()  # type: ignore[union-attr]
        sys.stderr = sys.__stderr__ = None  # type: ignore[misc]
        return {"y": 1.0, "grad.x": 1.0}

    before = sys.__stdout__, sys.stderr, sys.__stderr__
    assert asked(closes).status == "ok"
    assert (sys.__stdout__, sys.stderr, sys.__stderr__) == before
    assert sys.__stdout__ is not None
    assert not sys.__stdout__.closed


def test_a_request_is_not_changed_by_what_an_implementation_writes_into() -> None:
    request = Request("rope", {"base": 2.0, "list": [1]}, {"x": np.ones(3)}, ["y"])

    def scribbles(op: str, params: dict[str, Any], inputs: dict[str, Any], want: list[str]) -> dict[str, Any]:
        inputs["x"][:] = 7.0
        params["list"].append(2)
        params.clear()
        inputs.clear()
        want.clear()
        return {"y": 0.0}

    assert ask(scribbles, request).problems == ()
    assert request.params == {"base": 2.0, "list": [1]}
    assert request.inputs["x"].tolist() == [1.0, 1.0, 1.0]
    assert request.want == ["y"]


def test_what_is_printed_is_kept_in_part_and_shown_nowhere(capfd: pytest.CaptureFixture[str]) -> None:
    def prints(*_: Any) -> dict[str, Any]:
        print("x" * 10 * PRINTED)
        sys.stdout.buffer.write(b"bytes \xff\n")
        print("last words", file=sys.stderr)
        sys.stdout.close()
        return {"y": 1.0, "grad.x": 1.0}

    answer = asked(prints)
    assert answer.status == "ok"
    assert answer.printed.endswith("last words")
    assert len(answer.printed) <= PRINTED
    assert capfd.readouterr() == ("", "")


def test_numpy_settings_do_not_leak() -> None:
    def sets(*_: Any) -> dict[str, Any]:
        np.seterr(all="raise")
        return {"y": 1.0, "grad.x": 1.0}

    before = np.geterr()
    asked(sets)
    assert np.geterr() == before
