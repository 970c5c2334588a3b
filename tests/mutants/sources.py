"""What is mutated: every function of the op sources but validation, and in it every line but validation."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import refimpl

ROOT = Path(refimpl.__file__).parent
DOORS = ("embeddings", "rotary", "bias", "attention")
NAMESPACE = ("real_dtype", "unbroadcast", "scatter_add", "rational_powers")  # the rest is array-api-compat's
NO_OP = ("attention/conversions.py",)  # what other systems call a mask: no op calls it, tests/attention compares it
VALIDATION = re.compile(r"_?require")
OTHER_LIBRARIES = ("hasattr", "is_torch_namespace", "is_jax_namespace")  # tests of branches that NumPy never takes


@cache
def modules() -> tuple[str, ...]:
    """Return the files, "bias/alibi.py", in reading order of the folders."""
    found = [path.relative_to(ROOT).as_posix() for door in DOORS for path in sorted((ROOT / door).glob("[!_]*.py"))]
    return ("namespace.py", "angles.py", *(name for name in found if name not in NO_OP))


def module(name: str) -> ModuleType:
    """Import a file by its name."""
    return importlib.import_module("refimpl." + name.removesuffix(".py").replace("/", "."))


def function(module_name: str, name: str) -> FunctionType:
    """Return the function itself, below any decorator."""
    found: Any = inspect.unwrap(vars(module(module_name))[name])
    return found


@cache
def functions(module_name: str) -> dict[str, ast.FunctionDef]:
    """Return the functions of a file that compute something."""
    tree = ast.parse((ROOT / module_name).read_text())
    found = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    chosen = NAMESPACE if module_name == "namespace.py" else [name for name in found if not VALIDATION.match(name)]
    return {name: found[name] for name in chosen}


def skipped(node: ast.AST) -> bool:
    """Say whether a node is no arithmetic: validation, documentation, a type, the choice of an array library."""
    match node:
        case ast.Raise() | ast.AnnAssign() | ast.ClassDef() | ast.Import() | ast.ImportFrom():
            return True
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Expr(value=ast.Call(func=func)):
            return VALIDATION.match(name_of(func)) is not None
        case ast.Call(func=func):
            return name_of(func) in ("array_namespace", "device")
        case ast.keyword(arg="device" | "xp" | "like"):
            return True
        case ast.If(test=test, body=body, orelse=orelse):
            calls = {name_of(inner.func) for inner in ast.walk(test) if isinstance(inner, ast.Call)}
            return not calls.isdisjoint(OTHER_LIBRARIES) or all(skipped(statement) for statement in (*body, *orelse))
        case ast.For(body=body):
            return all(skipped(statement) for statement in body)
    return False


def name_of(func: ast.AST) -> str:
    """Return the last part of what is called."""
    return func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""


def only_validated(function: ast.FunctionDef) -> set[str]:
    """Return the local names that nothing but validation reads."""
    read = {node.id for node in _computing(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    stored = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return stored - read


def _computing(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not skipped(child):
            yield child
            yield from _computing(child)
