"""Safetensors files in every dtype: written for an implementation, and read from one that may have written anything."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import safetensors

from ..fixtures.regular import open_regular
from ..fixtures.tensors import dump
from .figures import printable, size

Arrays = dict[str, np.ndarray]
CODES = {
    np.dtype(dtype): code
    for code, dtype in {
        "F64": np.float64,
        "F32": np.float32,
        "F16": np.float16,
        "BF16": ml_dtypes.bfloat16,
        "I64": np.int64,
        "I32": np.int32,
        "I16": np.int16,
        "I8": np.int8,
        "U64": np.uint64,
        "U32": np.uint32,
        "U16": np.uint16,
        "U8": np.uint8,
        "BOOL": np.bool_,
    }.items()
}
DTYPES = {code: dtype for dtype, code in CODES.items()}
HEADER = 1 << 16  # bytes of JSON that the few tensors of a case may take
WIDEST = 8  # bytes an element


class Unreadable(Exception):
    """A file is not what it should be; the message says how."""


def write_tensors(path: Path, arrays: Mapping[str, np.ndarray]) -> bytes:
    """Write named arrays, and return the bytes."""
    data = dump(arrays, CODES)
    path.write_bytes(data)
    return data


def read_tensors(path: Path, names: Sequence[str], elements: int) -> tuple[Arrays, list[str]]:
    """Return the tensors of these names, and the names of all others; at most `elements` numbers are expected.

    A file that is far longer than these take is not read. Raises Unreadable.
    """
    found = load_tensors(read_regular(path, 8 + HEADER + 2 * WIDEST * elements, _shapes))
    others = [printable(name) for name in found if name not in names]
    return {name: found[name] for name in names if name in found}, others


def load_tensors(data: bytes) -> Arrays:
    """Return all tensors of a file, read-only. Raises Unreadable."""
    try:
        stored = safetensors.deserialize(data)
    except (safetensors.SafetensorError, ValueError) as error:
        raise Unreadable(f"not a safetensors file: {printable(error)}") from None
    return {name: _array(printable(name), tensor) for name, tensor in stored}


def read_regular(path: Path, most: int, describe: Callable[[bytes], str] = lambda start: "") -> bytes:
    """Return the content of a regular file of at most `most` bytes; nothing else is opened, nor a link followed.

    Raises Unreadable, for a longer file with what `describe` says of its start.
    """
    try:
        file = open_regular(path)
    except OSError as error:
        raise Unreadable("missing" if isinstance(error, FileNotFoundError) else error.strerror or "?") from None
    with file:
        length = os.fstat(file.fileno()).st_size
        if length > most:
            said = f"{size(length)}, where {size(most)} are more than enough: not read"
            raise Unreadable(said + describe(file.read(8 + HEADER)))
        return file.read(most)


def _array(name: str, stored: Mapping[str, Any]) -> np.ndarray:
    dtype = DTYPES.get(str(stored["dtype"]))
    if dtype is None:
        raise Unreadable(f"{name} has dtype {stored['dtype']}; allowed: {', '.join(DTYPES)}")
    try:
        array = np.frombuffer(bytes(stored["data"]), dtype).reshape(stored["shape"])
    except (ValueError, OverflowError) as error:  # no element, and lengths that no array has
        raise Unreadable(f"{name} has shape {stored['shape']}: {error}") from None
    if dtype == np.bool_ and array.view(np.uint8).max(initial=0) > 1:
        raise Unreadable(f"{name} is BOOL and holds a byte that is neither 0 nor 1")
    return array


def _shapes(start: bytes) -> str:
    """Return what the header of a file says of its tensors, as far as it can be read."""
    try:
        header = json.loads(start[8 : 8 + int.from_bytes(start[:8], "little")])
        shapes = [f"{name} {entry['shape']}" for name, entry in header.items() if name != "__metadata__"]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return ""
    return f"; its header lists {printable(', '.join(shapes))[:200]}"
