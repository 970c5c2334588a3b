"""Ask an implementation one thing at a time."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple
from unittest import SkipTest

import numpy as np

from .figures import printable
from .foreign import a_, first_line, interrupts, message, redirected, told

Implementation = Callable[[str, dict[str, Any], dict[str, np.ndarray], list[str]], Mapping[str, Any]]
PRINTED = 2000  # characters kept of what an implementation prints in one call


class Unsupported(SkipTest):
    """Raised by an implementation for what it does not offer; such a case is neither passed nor failed.

    pytest and unittest count a test that raises it as skipped.
    """


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
    """Call an implementation on copies of the request; whatever it raises, prints or writes into ends here.

    Only an interrupt that was sent, Ctrl-C, goes on.
    """
    tail = _Tail()
    stream = io.TextIOWrapper(tail, encoding="utf-8", errors="replace", write_through=True)
    arguments = copy.deepcopy(request)
    try:
        with interrupts() as sent, redirected(stream), np.errstate():
            answer = answer_of(implementation(*arguments), request.want)
    except Unsupported as error:
        answer = Answer("unsupported", detail=message(error))
    except ValueError as error:
        answer = Answer("rejected", detail=told(error))
    except BaseException as error:
        answer = Answer("error", detail=told(error))
    if sent:
        raise KeyboardInterrupt
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
            problems.append(f"{name} is {a_(result[name])}, which np.asarray cannot read: {first_line(error)}")
    extra = tuple(printable(name) for name in result if name not in want)
    return Answer("ok", outputs, (*problems, *(f"{name} was not asked for" for name in extra)), extra=extra)


class _Tail(io.BytesIO):
    """A file that keeps the end of what is written to it."""

    kept = b""

    def write(self, data: Any) -> int:
        self.kept = (self.kept + bytes(data))[-PRINTED:]
        return len(data)
