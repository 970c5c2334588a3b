"""One valid call of every op, and every way in which one of its arguments can be wrong."""

import inspect
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from refimpl.fixtures.cases import CASES
from refimpl.ops import OPS
from tests.cases import arguments

FLOAT_FOR_INT = (1.5, 2.0, True, "1", float("nan"), None, (1,), np.array(1), np.float64(2.0))
NO_FLOAT = ("x", True, float("nan"), float("inf"), float("-inf"), 1j, None, (0.5,), np.array(0.5), 10**400)
WRONG_TYPE = {  # annotation without None
    "int": FLOAT_FOR_INT,
    "float": NO_FLOAT,
    "bool": (0, 1, "x", None, np.array(True)),
    "str": ("no such", "", 3, None, ("interleaved",), np.array("interleaved")),
    "Sequence[int]": (3, "ab", None, (1.5,), (True,), np.array([1, 1]), (), (0,), (-1,)),
    "dtype": ("int8", "float32", np.int64, np.float16, np.dtype("int32"), 3),
    "xp": ("numpy", 3),
}
ANY = ()  # every value of the type is legal, or another argument is to blame
OUT_OF_RANGE: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("padding_idx", "position_padding_idx"), (-1, 10**6)),
    **dict.fromkeys(("max_norm", "base", "scale_base", "gamma", "cap", "softcap"), (0, -1.0)),
    **dict.fromkeys(("height", "width", "new_height", "new_width", "C", "H", "G", "S", "N", "step", "chunk"), (0, -1)),
    **dict.fromkeys(("max_bias", "block", "length", "trained_length", "max_distance"), (0, -1)),
    **dict.fromkeys(("pretrained_height", "pretrained_width"), (0, -1)),
    **dict.fromkeys(("mscale", "mscale_all_dim", "eps", "right", "left", "prefix", "T"), (-1,)),
    **dict.fromkeys(("scale", "max_logit_scale", "first", "padding_position", "left_padding", "centre"), ANY),
    **dict.fromkeys(("start", "offset", "q_offset"), ANY),
    "frequency_shift": (-1, 2),
    "p": (-0.5, 1.0, 2),
    "D": (0, -2, 3),
    "factor": (0, -1.0),
    "proportion": (-0.5, 1.5),
    "slow_rotations": (-1.0, 1e9),
    "low_frequency_factor": (-1.0, 1e9),
    "fast_rotations": (0.0, -1.0),
    "high_frequency_factor": (0.0, -1.0),
    "l2_qk_norm.eps": (0.0,),
    "positions_from_offset.start": (-(10**6),),
    "positions_from_offset.offset": (-(10**6),),
    "fire.q_offset": (-1,),
    "fox.q_offset": (-1, 10**6),
    "mla_attention.q_offset": (-1, 10**6),
    "yarn_frequencies.base": (1.0, 0.0),
    "longrope_frequencies.trained_length": (1, 0),
}
BLAMED = {"fast_rotations": "slow_rotations", "high_frequency_factor": "low_frequency_factor"}


class Valid(NamedTuple):
    """Arrays, options and the cotangent of a call that is as it should be."""

    arrays: dict[str, np.ndarray]
    options: dict[str, Any]


def valid(name: str) -> Valid:
    """Return the case of an op with the most inputs and options."""
    cases = [case for case in CASES.values() if case.op == name]
    fullest = max(cases, key=lambda case: (len(case.inputs), len(case.params)))
    _, params, inputs, _ = arguments(fullest.id)
    accepted = inspect.signature(OPS[name].forward).parameters
    own = {"xp": np} if "xp" in accepted else {}
    if "dtype" in accepted and accepted["dtype"].default is inspect.Parameter.empty:
        own["dtype"] = np.float64
    arrays = {key: value for key, value in inputs.items() if key in OPS[name].arrays}
    return Valid(arrays, {key: value for key, value in params.items() if key != "dtype"} | own)


def forward(name: str, call: Valid) -> Any:
    return OPS[name].forward(**call.arrays, **call.options)


def parts(name: str, y: Any) -> dict[str, np.ndarray]:
    """Return what has a cotangent, under the name that an error gives it."""
    fields = getattr(y, "_fields", None)
    return {"dy": y} if fields is None else {f"dy.{field}": part for field, part in zip(fields, y, strict=True)}


def wrong_kinds(value: np.ndarray) -> Iterator[Any]:
    """Yield what is no array, and arrays of every other dtype."""
    yield from (value.tolist(), "x", 3, object())
    allowed = "bi" if value.dtype.kind == "i" else value.dtype.kind
    for dtype in (np.bool_, np.int64, np.float64):
        if np.dtype(dtype).kind not in allowed:
            yield np.ones(value.shape, dtype)
    for dtype in (np.float16, np.complex128, np.int8, np.uint64, object, "<U1"):
        yield np.ones(value.shape).astype(dtype)


def wrong_shapes(value: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the array with an axis more or less, and with each axis one longer or empty."""
    yield value[None]
    yield value[..., None]
    if value.ndim:
        yield value[0, ...]
        yield value[..., 0]
    for axis in range(value.ndim):
        yield np.concatenate([value, np.take(value, [0], axis=axis)], axis=axis)
        yield np.take(value, [], axis=axis)
