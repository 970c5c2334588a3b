"""Ask an implementation one thing at a time."""

from __future__ import annotations

import copy
import io
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from .figures import printable

Implementation = Callable[[str, dict[str, Any], dict[str, np.ndarray], list[str]], Mapping[str, Any]]
CHECKER = Path(__file__).parent
PRINTED = 2000  # characters kept of what an implementation prints in one call


class Unsupported(Exception):
    """Raised by an implementation for what it does not offer; such a case is neither passed nor failed."""


class Request(NamedTuple):
    """The four arguments of an implementation."""

    op: str
    params: dict[str, Any]
    inputs: dict[str, np.ndarray]
    want: list[str]


class Answer(NamedTuple):
    """What came back."""

    status: str  # "ok", "unsupported", "rejected" (ValueError), "error" (any other), "crash", "hang", "unasked"
    outputs: Mapping[str, np.ndarray] = MappingProxyType({})  # those that were asked for and are arrays
    problems: tuple[str, ...] = ()  # breaches of the protocol
    detail: str = ""  # of the exception
    printed: str = ""
    extra: tuple[str, ...] = ()  # names of outputs that were not asked for


def ask(implementation: Implementation, request: Request) -> Answer:
    """Call an implementation on copies of the request; whatever it raises, prints or writes into ends here."""
    tail = _Tail()
    stream = io.TextIOWrapper(tail, encoding="utf-8", errors="replace", write_through=True)
    arguments = copy.deepcopy(request)
    try:
        with redirect_stdout(stream), redirect_stderr(stream), np.errstate():
            answer = answer_of(implementation(*arguments), request.want)
    except Unsupported as error:
        answer = Answer("unsupported", detail=printable(error))
    except ValueError as error:
        answer = Answer("rejected", detail=told(error))
    except (Exception, SystemExit) as error:
        answer = Answer("error", detail=told(error))
    return answer._replace(printed=printable(tail.kept.decode(errors="replace").strip()))


def answer_of(result: Any, want: Sequence[str]) -> Answer:
    """Return the wanted outputs that can be read as arrays, and what is wrong with the rest."""
    if not isinstance(result, Mapping):
        return Answer("ok", problems=(f"the result is {a_(result)}, want a dict of arrays with {', '.join(want)}",))
    outputs: dict[str, np.ndarray] = {}
    problems: list[str] = []
    for name in want:
        if name not in result:
            problems.append(f"{name} is missing")
            continue
        try:
            array = np.asarray(result[name])
            if array.dtype.kind in "OSUMm":
                problems.append(f"{name} is {a_(result[name])} of dtype {array.dtype}, want an array of numbers")
            else:
                outputs[name] = array
        except Exception as error:
            problems.append(f"{name} is {a_(result[name])}, which np.asarray cannot read: {_first_line(error)}")
    extra = tuple(printable(name) for name in result if name not in want)
    return Answer("ok", outputs, (*problems, *(f"{name} was not asked for" for name in extra)), extra=extra)


class _Tail(io.BytesIO):
    """A file that keeps the end of what is written to it."""

    kept = b""

    def write(self, data: Any) -> int:
        self.kept = (self.kept + bytes(data))[-PRINTED:]
        return len(data)


def told(error: BaseException) -> str:
    """Return the type and message of an exception, and the line of the implementation that it came from."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).parent != CHECKER]
    frames = [frame for frame in frames if not frame.filename.startswith("<frozen")]
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(Path.cwd())]
    where = [f" ({_short(frame.filename)}:{frame.lineno})" for frame in (ours or frames)[-1:]]
    return f"{type(error).__name__}: {_first_line(error)}{''.join(where)}"


def _first_line(error: BaseException) -> str:
    return printable((str(error).strip().splitlines() or ["no message"])[0][:300])


def _short(filename: str) -> str:
    path = Path(filename)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else path.name


def a_(value: Any) -> str:
    return "None" if value is None else f"a {type(value).__name__}"
