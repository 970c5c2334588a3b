"""Load an implementation named "package.module:function"."""

from __future__ import annotations

import difflib
import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

from .entry import Implementation
from .foreign import a_, told

SIGNATURE = "run(op, params, inputs, want) -> dict of arrays"


class EntryError(Exception):
    """The entry cannot be loaded."""


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


def _module(name: str) -> Any:
    """Import a module, from the current directory where it is there."""
    if sys.path[:1] != [""]:
        sys.path.insert(0, "")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name == error.name or name.startswith(error.name + ".")):
            raise EntryError(f"importing {name}: {told(error)}") from error
        here = [path.stem for path in Path().glob("*.py")] + [path.parent.name for path in Path().glob("*/__init__.py")]
        near = difflib.get_close_matches(name.partition(".")[0], here, n=8, cutoff=0.0)
        found = f"found here: {', '.join(near)}" if near else "no Python module is here"
        raise EntryError(f"no module {error.name!r} in {Path.cwd()} or among the installed ones; {found}") from None
    except (Exception, SystemExit) as error:
        raise EntryError(f"importing {name}: {told(error)}") from error


def _require_signature(name: str, function: Any) -> None:
    if not callable(function):
        raise EntryError(f"{name} is {a_(function)}; allowed: a function {SIGNATURE}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # built in another language: no signature to look at
        return
    try:
        signature.bind("op", {}, {}, [])
    except TypeError as error:
        raise EntryError(f"{name}{signature} cannot be called as {SIGNATURE}: {error}") from None
