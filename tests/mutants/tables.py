"""What stands for what: the kinds of change, operators, comparisons, functions and their siblings."""

from __future__ import annotations

import ast

KINDS = {
    "arithmetic": "another operator",
    "term": "a term or a factor dropped",
    "sign": "a minus dropped or added",
    "order": "operands, arguments or results the other way round",
    "comparison": "another comparison, or another boundary",
    "constant": "a number off by one, of the other sign, doubled",
    "default": "the same in the default of an option",
    "axis": "another axis",
    "index": "a slice, an index or where the new axis goes",
    "truth": "True and False exchanged",
    "logic": "and, or, not, a condition negated or dropped",
    "where": "the branches of a selection exchanged, its mask negated, one branch alone",
    "function": "a sibling: min for max, mean for sum, sin for cos, ceil for floor",
    "call": "a call dropped: its first argument instead",
    "keyword": "a keyword argument dropped",
    "transpose": "a transposition dropped",
    "range": "a range a step shorter at either end",
    "gradient": "a gradient that is zero, or negated",
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.MatMult: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
ORDERED = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.MatMult, ast.LShift)
COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
SIBLINGS = {
    "cos": ("sin",),
    "sin": ("cos",),
    "exp": ("expm1",),
    "expm1": ("exp",),
    "log": ("log1p", "log2"),
    "log1p": ("log",),
    "maximum": ("minimum",),
    "minimum": ("maximum",),
    "max": ("min",),
    "min": ("max",),
    "floor": ("ceil",),
    "ceil": ("floor",),
    "any": ("all",),
    "all": ("any",),
    "sum": ("mean", "max"),
    "mean": ("sum",),
    "zeros_like": ("ones_like",),
    "ones_like": ("zeros_like",),
    "zeros": ("ones",),
    "ones": ("zeros",),
    "tanh": ("sin",),
    "sign": ("abs",),
    "round": ("floor",),
}
AXES = {-1: (-2, 0), -2: (-1, -3), 0: (1, -1), 1: (0,)}
NOT_DROPPED = ("constant", "arange", "asarray", "range", "len", "isdtype", "tuple")  # not a step of a formula
SYMMETRIC = ("maximum", "minimum", "max", "min")
