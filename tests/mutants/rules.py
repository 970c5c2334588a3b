"""How one node is changed: a rule a kind of node, each a list of (kind, other node)."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from itertools import pairwise

from .sources import name_of
from .tables import ARITHMETIC, AXES, COMPARISONS, NOT_DROPPED, ORDERED, SIBLINGS, SYMMETRIC

Change = tuple[str, ast.AST]  # one of KINDS, and the other node


def changes(node: ast.AST, role: str) -> Iterator[Change]:
    """Yield what may stand in place of a node.

    role: what a number means where it stands: "axis", "index", "default" of an option, "shape" of a reshape, or "".
    """
    match node:
        case ast.Constant(value=value):
            yield from _of_number(value, role)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=value)):
            yield from _of_number(-value, role)
        case ast.UnaryOp(op=op, operand=operand):
            yield ("sign" if isinstance(op, ast.USub) else "logic"), operand
        case ast.BinOp():
            yield from _of_operator(node)
        case ast.Compare(ops=[op]):
            for other in COMPARISONS[type(op)]:
                yield "comparison", _with(node, ops=[other()])
        case ast.BoolOp(op=op, values=values):
            yield "logic", _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
            for value in values:
                yield "logic", value
        case ast.IfExp(body=body, orelse=orelse):
            yield "logic", _with(node, body=orelse, orelse=body)
        case ast.If(test=test):
            yield "logic", _with(node, test=ast.UnaryOp(ast.Not(), test))
        case ast.Call():
            yield from _of_call(node)
        case ast.Attribute(attr="mT", value=value):
            yield "transpose", value
        case ast.Subscript():
            yield from _of_subscript(node)
        case ast.Slice():
            yield from _of_slice(node)
        case ast.Assign(value=ast.BinOp() as value):
            yield "sign", _with(node, value=ast.UnaryOp(ast.USub(), value))
        case ast.AugAssign(op=op):
            yield "arithmetic", _with(node, op=ARITHMETIC[type(op)]())
            yield "term", ast.Pass()
        case ast.Expr():
            yield "call", ast.Pass()


def of_gradient(value: ast.expr) -> Iterator[Change]:
    """Yield a gradient that is zero, and one of the other sign; None stays None."""
    for form in ("0 * gradient", "-gradient"):
        changed = ast.parse(f"None if gradient is None else {form}", mode="eval").body
        yield "gradient", _Filled(value).visit(changed)


def exchanged(items: list[ast.expr]) -> Iterator[list[ast.expr]]:
    """Yield the items with two different neighbours of one kind the other way round."""
    for i, (left, right) in enumerate(pairwise(items)):
        if type(left) is type(right) and ast.dump(left) != ast.dump(right):
            yield [*items[:i], right, left, *items[i + 2 :]]


def _with(node: ast.AST, **fields: object) -> ast.AST:
    """Return a copy with some fields replaced."""
    new = copy.copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def _of_number(value: object, role: str) -> Iterator[Change]:
    if role == "shape" and value == -1:  # no number: what is left over
        return
    kind = "constant" if role in ("", "shape") else role
    if isinstance(value, bool):
        yield ("truth" if role != "default" else role), ast.Constant(not value)
    elif isinstance(value, int):
        others = AXES.get(value, (value - 1,)) if role == "axis" else (value + 1, value - 1, -value)
        yield from ((kind, number(other)) for other in dict.fromkeys(others) if other != value)
    elif isinstance(value, float):
        others = [2 * value, -value, value + 1] if value else [1.0, -1.0]
        yield from ((kind, number(other)) for other in others)


def number(value: float) -> ast.expr:
    """Return a number as Python writes it."""
    return ast.parse(repr(value), mode="eval").body


def _of_operator(node: ast.BinOp) -> Iterator[Change]:
    if isinstance(node.left, ast.Tuple) or isinstance(node.right, ast.Tuple):
        return
    yield "arithmetic", _with(node, op=ARITHMETIC[type(node.op)]())
    yield "term", node.left
    yield "term", node.right
    if isinstance(node.op, ORDERED):
        yield "order", _with(node, left=node.right, right=node.left)


def _of_call(node: ast.Call) -> Iterator[Change]:
    name, args = name_of(node.func), node.args
    if name == "where" and len(args) == 3:
        condition, first, second = args
        yield "where", _with(node, args=[condition, second, first])
        yield "where", first
        yield "where", second
        return
    for sibling in SIBLINGS.get(name, ()):
        yield "function", _with(node, func=_renamed(node.func, sibling))
    if args and not (name in NOT_DROPPED or name[:1].isupper() or isinstance(args[0], ast.Starred)):
        yield "call", args[0]
    if name == "range":
        first, last = (args[0], args[1]) if len(args) > 1 else (ast.Constant(0), args[0])
        yield "range", _with(node, args=[ast.BinOp(first, ast.Add(), ast.Constant(1)), last, *args[2:]])
        yield "range", _with(node, args=[first, ast.BinOp(last, ast.Sub(), ast.Constant(1)), *args[2:]])
    if not (name[:1].isupper() or name in SYMMETRIC):
        yield from (("order", _with(node, args=swapped)) for swapped in exchanged(args))
    for i, keyword in enumerate(node.keywords):
        if keyword.arg not in (None, "device", "xp", "like"):
            yield "keyword", _with(node, keywords=[*node.keywords[:i], *node.keywords[i + 1 :]])


def _renamed(func: ast.expr, name: str) -> ast.AST:
    return _with(func, attr=name) if isinstance(func, ast.Attribute) else ast.Name(name, ast.Load())


def _of_subscript(node: ast.Subscript) -> Iterator[Change]:
    if not isinstance(node.ctx, ast.Load):
        return
    yield "index", node.value
    if isinstance(node.slice, ast.Tuple):
        items = node.slice.elts
        for i, (left, right) in enumerate(pairwise(items)):
            if ast.dump(left) != ast.dump(right):
                swapped = [*items[:i], right, left, *items[i + 2 :]]
                yield "index", _with(node, slice=_with(node.slice, elts=swapped))


def _of_slice(node: ast.Slice) -> Iterator[Change]:
    for bound in ("lower", "upper", "step"):
        if getattr(node, bound) is not None:
            yield "index", _with(node, **{bound: None})


class _Filled(ast.NodeTransformer):
    """Put an expression where the name `gradient` stands."""

    def __init__(self, value: ast.expr) -> None:
        self.value = value

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.value if node.id == "gradient" else node
