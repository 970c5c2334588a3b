"""One mutant of one function: found in the syntax tree, made in place, undone."""

from __future__ import annotations

import ast
import inspect
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

from .rules import changes, exchanged, of_gradient
from .sources import ROOT, function, functions, module, name_of, only_validated, skipped

NOT_COMPUTED = ("returns", "annotation", "decorator_list", "type_comment", "ctx", "op", "ops")
AXES = ("axis", "axes")


class Mutant(NamedTuple):
    """One change of one node. `key` names it whatever lines come before; `change` puts it into the tree."""

    module: str
    function: str
    kind: str
    statement: str
    before: str
    after: str
    nth: int  # among equal ones
    place: tuple[ast.AST, str, int | None]
    node: ast.AST

    @property
    def key(self) -> str:
        nth = f" ({self.nth})" if self.nth else ""
        return f"{self.module}:{self.function} [{self.statement}] {self.before} -> {self.after}{nth}"


class _Site(NamedTuple):
    """A node, where it hangs, and the statement around it."""

    node: ast.AST
    place: tuple[ast.AST, str, int | None]
    role: str
    statement: str


@cache
def mutants(module_name: str) -> tuple[Mutant, ...]:
    """Return every mutant of a file, in the order of its source."""
    found: list[Mutant] = []
    for name, tree in functions(module_name).items():
        seen: Counter[tuple[str, str, str]] = Counter()
        for kind, site, new in _changes(tree):
            before, after = _text(site.node), _text(new)
            identity = (site.statement, before, after)
            if before != after:
                found.append(Mutant(module_name, name, kind, *identity, seen[identity], site.place, new))
                seen[identity] += 1
    return tuple(found)


@contextmanager
def applied(mutant: Mutant) -> Iterator[None]:
    """Change the function object itself, so that every importer runs the mutant, and put it back."""
    target = function(mutant.module, mutant.function)
    right = (target.__code__, target.__defaults__, target.__kwdefaults__)
    try:
        target.__code__, target.__defaults__, target.__kwdefaults__ = compiled(mutant)
        yield
    finally:
        target.__code__, target.__defaults__, target.__kwdefaults__ = right


def compiled(mutant: Mutant) -> tuple[Any, Any, Any]:
    """Return code and defaults of the mutated function."""
    tree = functions(mutant.module)[mutant.function]
    old = _put(mutant.place, mutant.node)
    try:
        source = ast.unparse(ast.Module([tree], []))
    finally:
        _put(mutant.place, old)
    names = dict(vars(module(mutant.module)))
    with warnings.catch_warnings(action="ignore", category=SyntaxWarning):  # a number called, or taken apart
        exec(compile(f"from __future__ import annotations\n{source}", str(ROOT / mutant.module), "exec"), names)
    made = inspect.unwrap(names[mutant.function])
    return made.__code__, made.__defaults__, made.__kwdefaults__


def _put(place: tuple[ast.AST, str, int | None], node: Any) -> Any:
    """Hang a node where another hangs, and return that."""
    holder, field, index = place
    if index is None:
        old = getattr(holder, field)
        setattr(holder, field, node)
    else:
        old = getattr(holder, field)[index]
        getattr(holder, field)[index] = node
    return old


def _changes(tree: ast.FunctionDef) -> Iterator[tuple[str, _Site, ast.AST]]:
    backward = tree.name.endswith("backward")
    for site in _sites(tree, "", "def", only_validated(tree)):
        for kind, new in changes(site.node, site.role):
            yield kind, site, new
        if isinstance(site.node, ast.Return) and backward:
            yield from _of_results(site)


def _of_results(site: _Site) -> Iterator[tuple[str, _Site, ast.AST]]:
    """Yield what can be wrong with gradients on their way out."""
    value = site.node.value  # type: ignore[attr-defined]
    named = isinstance(value, ast.Call) and name_of(value.func)[:1].isupper()
    if isinstance(value, ast.Tuple) or named:
        field = "args" if named else "elts"
        for i, item in enumerate(getattr(value, field)):
            if not isinstance(item, ast.Constant | ast.Starred):
                part = site._replace(node=item, place=(value, field, i))
                yield from ((kind, part, new) for kind, new in of_gradient(item))
        for items in exchanged(getattr(value, field)):
            new = ast.Call(value.func, items, value.keywords) if named else ast.Tuple(items, ast.Load())
            yield "order", site._replace(node=value, place=(site.node, "value", None)), new
    elif not isinstance(value, ast.Constant):
        whole = site._replace(node=value, place=(site.node, "value", None))
        yield from ((kind, whole, new) for kind, new in of_gradient(value))


def _sites(node: ast.AST, role: str, statement: str, ignored: set[str]) -> Iterator[_Site]:
    """Walk through all that is computed."""
    for field, value in ast.iter_fields(node):
        if field in NOT_COMPUTED:
            continue
        for index, child in enumerate(value) if isinstance(value, list) else ((None, value),):
            if not isinstance(child, ast.AST) or skipped(child) or _ignored(child, ignored):
                continue
            inner = _role(node, field, role)
            around = _header(child) if isinstance(child, ast.stmt) else _named_default(node, field, index) or statement
            yield _Site(child, (node, field, index), inner, around)
            if not (isinstance(child, ast.UnaryOp) and isinstance(child.operand, ast.Constant)):
                yield from _sites(child, inner, around, ignored)


def _role(node: ast.AST, field: str, role: str) -> str:
    """Say what a constant below this field means."""
    if isinstance(node, ast.keyword):
        return "axis" if node.arg in AXES else ""
    if isinstance(node, ast.arguments):
        return "default"
    if isinstance(node, ast.Subscript):
        return "index" if field == "slice" else ""
    if isinstance(node, ast.Call):
        return "shape" if name_of(node.func) == "reshape" and field == "args" else ""
    return role


def _ignored(node: ast.AST, names: set[str]) -> bool:
    """Say whether a statement stores nothing but names that only validation reads."""
    return isinstance(node, ast.Assign) and all(isinstance(t, ast.Name) and t.id in names for t in node.targets)


def _named_default(node: Any, field: str, index: int | None) -> str:
    """Return the option that a default belongs to."""
    if index is None or field not in ("defaults", "kw_defaults"):
        return ""
    options = node.kwonlyargs if field == "kw_defaults" else node.args[len(node.args) - len(node.defaults) :]
    return f"default of {options[index].arg}"


def _header(node: ast.stmt) -> str:
    """Return a statement on one line, without what is below it."""
    return _text(node) if not hasattr(node, "body") else _text(node).partition("\n")[0]


def _text(node: ast.AST) -> str:
    text = ast.unparse(ast.fix_missing_locations(node))
    return text if isinstance(node, ast.expr) else text.partition("\n")[0]
