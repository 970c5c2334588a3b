"""An implementation named "package.module:function": loading it, and asking it one thing at a time."""

from __future__ import annotations

import copy
import difflib
import importlib
import inspect
import io
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from .figures import printable

Implementation = Callable[[str, dict[str, Any], dict[str, np.ndarray], list[str]], Mapping[str, Any]]
SIGNATURE = "run(op, params, inputs, want) -> dict of arrays"
PRINTED = 2000  # characters kept of what an implementation prints in one call


class Unsupported(Exception):
    """Raised by an implementation for what it does not offer; such a case is neither passed nor failed."""


class EntryError(Exception):
    """The entry cannot be loaded."""


class Request(NamedTuple):
    """The four arguments of an implementation."""

    op: str
    params: dict[str, Any]
    inputs: dict[str, np.ndarray]
    want: list[str]


class Answer(NamedTuple):
    """What came back."""

    status: str  # "ok", "unsupported", "rejected" (ValueError), "error" (any other exception), "crash", "hang"
    outputs: Mapping[str, np.ndarray] = MappingProxyType({})  # those that were asked for and are arrays
    problems: tuple[str, ...] = ()  # breaches of the protocol
    detail: str = ""  # of the exception
    printed: str = ""
    extra: tuple[str, ...] = ()  # names of outputs that were not asked for


def load(name: str) -> Implementation:
    """Import "package.module:function"; modules of the current directory come first.

    Raises EntryError, with what to do about it.
    """
    module_name, colon, function_name = name.partition(":")
    if not (colon and module_name and function_name) or "/" in module_name or module_name.endswith(".py"):
        written = module_name.removesuffix(".py").strip("./").replace("/", ".") or "package.module"
        raise EntryError(f"got {name!r}; allowed: package.module:function, here {written}:{function_name or 'run'}")
    module = _module(module_name)
    function: Any = module
    for part in function_name.split("."):
        if not hasattr(function, part):
            names = [key for key, value in vars(function).items() if callable(value) and not key.startswith("_")]
            near = difflib.get_close_matches(part, names, n=8, cutoff=0.0)
            raise EntryError(f"{module_name} has no {part!r}; its callables: {', '.join(near) or 'none'}")
        function = getattr(function, part)
    _require_signature(name, function)
    return function


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
        answer = Answer("rejected", detail=_told(error))
    except (Exception, SystemExit) as error:
        answer = Answer("error", detail=_told(error))
    return answer._replace(printed=printable(tail.kept.decode(errors="replace").strip()))


def answer_of(result: Any, want: Sequence[str]) -> Answer:
    """Return the wanted outputs that can be read as arrays, and what is wrong with the rest."""
    if not isinstance(result, Mapping):
        return Answer("ok", problems=(f"the result is {_a(result)}, want a dict of arrays with {', '.join(want)}",))
    outputs: dict[str, np.ndarray] = {}
    problems: list[str] = []
    for name in want:
        if name not in result:
            problems.append(f"{name} is missing")
            continue
        try:
            outputs[name] = np.asarray(result[name])
        except Exception as error:
            problems.append(f"{name} is {_a(result[name])}, which np.asarray cannot read: {_first_line(error)}")
    extra = tuple(printable(name) for name in result if name not in want)
    return Answer("ok", outputs, (*problems, *(f"{name} was not asked for" for name in extra)), extra=extra)


class _Tail(io.BytesIO):
    """A file that keeps the end of what is written to it."""

    kept = b""

    def write(self, data: Any) -> int:
        self.kept = (self.kept + bytes(data))[-PRINTED:]
        return len(data)


def _module(name: str) -> Any:
    """Import a module, from the current directory where it is there."""
    if sys.path[:1] != [""]:
        sys.path.insert(0, "")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name == error.name or name.startswith(error.name + ".")):
            raise EntryError(f"importing {name}: {_told(error)}") from error
        here = [path.stem for path in Path().glob("*.py")] + [path.parent.name for path in Path().glob("*/__init__.py")]
        near = difflib.get_close_matches(name.partition(".")[0], here, n=8, cutoff=0.0)
        found = f"found here: {', '.join(near)}" if near else "no Python module is here"
        raise EntryError(f"no module {error.name!r} in {Path.cwd()} or among the installed ones; {found}") from None
    except (Exception, SystemExit) as error:
        raise EntryError(f"importing {name}: {_told(error)}") from error


def _require_signature(name: str, function: Any) -> None:
    if not callable(function):
        raise EntryError(f"{name} is {_a(function)}; allowed: a function {SIGNATURE}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # built in another language: no signature to look at
        return
    try:
        signature.bind("op", {}, {}, [])
    except TypeError as error:
        raise EntryError(f"{name}{signature} cannot be called as {SIGNATURE}: {error}") from None


def _told(error: BaseException) -> str:
    """Return the type and message of an exception, and the line of the implementation that it came from."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    frames = [frame for frame in frames if not frame.filename.startswith("<frozen")]
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(Path.cwd())]
    where = [f" ({_short(frame.filename)}:{frame.lineno})" for frame in (ours or frames)[-1:]]
    return f"{type(error).__name__}: {_first_line(error)}{''.join(where)}"


def _first_line(error: BaseException) -> str:
    return printable((str(error).strip().splitlines() or ["no message"])[0][:300])


def _short(filename: str) -> str:
    path = Path(filename)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else path.name


def _a(value: Any) -> str:
    return "None" if value is None else f"a {type(value).__name__}"
