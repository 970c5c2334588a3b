"""What a signature says of its arguments, held at every call: one ValueError where an argument is something else."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import array_api_compat
from jaxtyping import AbstractArray

from .errors import refuse, require, require_integer, require_number, shape_of
from .namespace import array_namespace
from .shapes import Lengths, split

Function = TypeVar("Function", bound=Callable[..., Any])
DTYPES = ("float32", "float64", "int32", "int64", "bool")
KEEPS = " (True keeps)"


class Call:
    """What the arguments seen so far have fixed for the rest, each with the name of the argument that did."""

    def __init__(self) -> None:
        self.lengths = Lengths()
        self.library: tuple[Any, str] | None = None
        self.real: tuple[Any, str] | None = None  # dtype of the reals


def checked(function: Function) -> Function:
    """Return the function, with its arguments held to their annotations.

    Arrays come from one library. Reals are float32 or float64, the same in the whole call: nothing is promoted in
    silence. Integers are int32 or int64. A letter in the shapes is one length throughout the call, in a backward pass
    that of the residuals; *B is any number of axes. Only T, P and axes with a star may be empty.
    Cotangents of several outputs come in their NamedTuple, None meaning zero, at least one of them an array.
    Numbers of NumPy's become Python's own, so that whole ones do not overflow; a float is finite.
    Raises ValueError for all that, and Python's TypeError for an argument that is missing or that there is not.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        bound = signature.bind(*args, **options)
        bound.arguments.update(_checked(bound.arguments, hints_of(function)))
        return function(*bound.args, **bound.kwargs)

    return call  # type: ignore[return-value]


def _checked(given: dict[str, Any], hints: dict[str, Any]) -> dict[str, Any]:
    """Check all arguments, arrays last, and return the options, numbers as Python's own."""
    call, options, arrays = Call(), {}, []
    for name, value in given.items():
        kind, optional = _kind(hints[name])
        if name == "residuals":
            _learn(value, kind, call)
        elif _is_array(kind) or hasattr(kind, "_fields"):
            arrays += [] if optional and value is None else [(name, value, kind)]
        elif not (optional and value is None):
            options[name] = _option(name, value, kind)
            if kind is int:
                call.lengths.learn(name, [(name, (options[name],))])
    for name, value, kind in arrays:
        (_require_array if _is_array(kind) else _require_cotangents)(name, value, kind, call)
    _require_table(given, call.library)
    return options


@functools.cache
def hints_of(annotated: Any) -> dict[str, Any]:
    """Return the types of a function's arguments, or of a tuple's fields: at a call, when every module is there."""
    return get_type_hints(annotated)


def _kind(hint: Any) -> tuple[Any, bool]:
    """Return the type without None, and whether None is allowed."""
    if not isinstance(hint, types.UnionType):
        return hint, False
    (kind,) = (part for part in get_args(hint) if part is not types.NoneType)
    return kind, True


def _is_array(kind: Any) -> bool:
    return inspect.isclass(kind) and issubclass(kind, AbstractArray)


def _learn(residuals: Any, kind: Any, call: Call) -> None:
    """Take what the forward pass saved for granted: its lengths, library and dtype."""
    allowed, source = f"{kind.__name__} of the forward pass", "the forward pass"
    require(isinstance(residuals, kind), "residuals", type(residuals).__name__, allowed)
    for name, hint in hints_of(kind).items():
        value, (field, _) = getattr(residuals, name), _kind(hint)
        if value is not None and field is int:
            call.lengths.learn(source, [(name, (value,))])
        elif value is not None and _is_array(field):
            call.lengths.learn(source, split(tuple(value.shape), field.dim_str.split()) or [])
            _require_alike(source, value, call)


def _require_cotangents(name: str, value: Any, kind: Any, call: Call) -> None:
    """Raise ValueError unless the cotangents of several outputs come in the form of these, one of them at least."""
    form = f"{kind.__name__}({', '.join(kind._fields)}), at least one of them an array"
    require(isinstance(value, kind), name, type(value).__name__, form)
    require(any(part is not None for part in value), name, " and ".join("None" for _ in value), form)
    for field, hint in hints_of(kind).items():
        if getattr(value, field) is not None:
            _require_array(f"{name}.{field}", getattr(value, field), _kind(hint)[0], call)


def _require_array(name: str, value: Any, kind: Any, call: Call) -> None:
    """Raise ValueError unless a value is an array as its annotation says, and fits the arguments before it."""
    letters = kind.dim_str.split()
    if not array_api_compat.is_array_api_obj(value):
        got = "None" if value is None else type(value).__name__
        refuse(name, got, "an array" if letters == ["..."] else f"an array of {shape_of(letters)}")
    names = [dtype for dtype in DTYPES if dtype in kind.dtypes]
    if value.dtype not in [getattr(array_namespace(value), dtype, None) for dtype in names]:
        refuse(name, f"dtype {value.dtype}", " or ".join(names) + KEEPS * (names == ["bool"]))
    _require_alike(name, value, call)
    if letters != ["..."]:
        call.lengths.require(name, tuple(value.shape), letters)


def _require_alike(name: str, value: Any, call: Call) -> None:
    """Raise ValueError unless an array is of the library, and a real one of the dtype, of those before it."""
    xp = array_namespace(value)
    library, first = call.library = call.library or (xp, name)
    if xp is not library:
        refuse(name, f"an array of {xp.__name__}", f"{library.__name__}, as {first} is")
    if value.dtype in (xp.float32, xp.float64):
        dtype, first = call.real = call.real or (value.dtype, name)
        if value.dtype != dtype:
            refuse(name, f"dtype {value.dtype}", f"{dtype}, as {first} is")


def _require_table(given: dict[str, Any], library: tuple[Any, str] | None) -> None:
    """Raise ValueError unless a table is asked for in terms of an array library: its namespace, one of its dtypes."""
    if "xp" in given:
        require(hasattr(given["xp"], "asarray"), "xp", repr(given["xp"]), "an array namespace, such as numpy")
    xp, dtype = given.get("xp") or (library and library[0]), given.get("dtype")
    if xp is not None and dtype is not None:
        known = any(dtype is real or dtype == real for real in (xp.float32, xp.float64))
        require(known, "dtype", repr(dtype), f"float32 or float64 of {xp.__name__}")


def _option(name: str, value: Any, kind: Any) -> Any:
    """Raise ValueError unless an option is of its type; return it, a number as Python's own."""
    if kind is int:
        require_integer(name, value)
        return int(value)
    if kind is float:
        require_number(name, value)
        return float(value)
    if kind is bool:
        require(isinstance(value, bool), name, repr(value), "True or False")
    if kind is str:
        require(isinstance(value, str), name, repr(value), "a string")
    if get_origin(kind) is Sequence:
        require(isinstance(value, list | tuple), name, repr(value), "a tuple of integers")
        return tuple(_option(f"{name}[{i}]", part, int) for i, part in enumerate(value))
    return value
