"""What a namespace says about itself."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .array import BOOL, INT, REAL
from .profiles import FORMATS, Format
from .steps import Steps


class Info:
    """The Array API's inspection object: one device, one type of each kind."""

    def capabilities(self) -> dict[str, Any]:
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        return "cpu"

    def devices(self) -> list[str]:
        return ["cpu"]

    def default_dtypes(self, *, device: str | None = None) -> dict[str, Any]:
        return {"real floating": REAL, "integral": INT, "indexing": INT}

    def dtypes(self, *, device: str | None = None, kind: Any = None) -> dict[str, Any]:
        known = {"bool": BOOL, "int64": INT, "float64": REAL}
        return {name: dtype for name, dtype in known.items() if kind is None or np.isdtype(dtype, kind)}


class FloatInfo:
    """The limits of a format, under the names of the Array API's finfo."""

    dtype = REAL

    def __init__(self, format: Format) -> None:
        self.bits = format.bits
        self.eps = 2 * format.unit_roundoff
        self.max, self.min = format.max_finite, -format.max_finite
        self.smallest_normal = format.least_normal


class Names:
    """Types and constants of the Array API; `pi` and `e` are no floats here, but arrays (creation.py)."""

    bool = BOOL
    int64 = INT
    float64 = float32 = REAL  # one type of reals; the arithmetic decides what it means
    inf, nan = math.inf, math.nan
    newaxis = None


class Inspection(Names, Steps):
    """Inspection functions of the Array API."""

    __name__ = "refimpl.exact"
    __array_api_version__ = "2024.12"

    def __array_namespace_info__(self) -> Info:
        return Info()

    def finfo(self, type: Any, /) -> FloatInfo:
        return FloatInfo(self.formats.storage if "profile" in vars(self) else FORMATS["float64"])

    def iinfo(self, type: Any, /) -> Any:
        return np.iinfo(getattr(type, "dtype", type))

    def isdtype(self, dtype: Any, kind: Any) -> bool:
        return bool(np.isdtype(np.dtype(dtype), kind))

    def can_cast(self, from_: Any, to: Any, /) -> bool:
        return bool(np.can_cast(getattr(from_, "dtype", from_), to))

    def result_type(self, *arrays_and_dtypes: Any) -> np.dtype[Any]:
        of_scalar = {bool: BOOL, int: INT, float: REAL}
        kinds = {(of_scalar.get(type(x)) or np.dtype(getattr(x, "dtype", x))).kind for x in arrays_and_dtypes}
        return REAL if "f" in kinds else INT if "i" in kinds else BOOL
