"""Every case on every array library: the proven values, within the derived float64 tolerance."""

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from refimpl.ops import OPS, run
from tests.cases import IDS, arguments, golden

Convert = Callable[[np.ndarray], Any]


def numpy_read_only() -> tuple[Any, Convert, Convert]:
    def convert(array: np.ndarray) -> np.ndarray:
        frozen = array.copy()
        frozen.flags.writeable = False
        return frozen

    return np, convert, np.asarray


def strict(device: str) -> tuple[Any, Convert, Convert]:
    import array_api_strict as xp

    where = xp.Device(device)
    return xp, lambda array: xp.asarray(array, device=where), lambda y: np.asarray(y.to_device(xp.Device("CPU_DEVICE")))


def torch() -> tuple[Any, Convert, Convert]:
    import array_api_compat.torch as xp

    return xp, lambda array: xp.asarray(array), lambda y: y.numpy()


def jax() -> tuple[Any, Convert, Convert]:
    import jax.numpy as xp

    return xp, xp.asarray, np.asarray


def cupy() -> tuple[Any, Convert, Convert]:
    import array_api_compat.cupy as xp

    return xp, xp.asarray, lambda y: y.get()


def present(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def installed(module: str, *marks: Any) -> tuple[Any, ...]:
    return (*marks, pytest.mark.skipif(not present(module), reason=f"{module} is not installed"))


def of_each_op(count: int) -> list[str]:
    """Return that many cases of every op, from its first to its last."""
    chosen = []
    for op in OPS:
        ids = [id for id in IDS if id.startswith(f"{op}/")]
        chosen += [ids[i * (len(ids) - 1) // max(count - 1, 1)] for i in range(min(count, len(ids)))]
    return chosen


BACKENDS = {  # how to enter, which cases, marks
    "numpy": (lambda: (np, np.asarray, np.asarray), IDS, ()),
    "numpy-read-only": (numpy_read_only, IDS, ()),
    "strict": (lambda: strict("CPU_DEVICE"), IDS, ()),
    "strict-device1": (lambda: strict("device1"), of_each_op(3), ()),
    "torch": (torch, IDS, installed("torch")),
    "jax": (jax, of_each_op(1), installed("jax")),  # compiles for every new shape, 1.5 s a case
    "cupy": (cupy, IDS if present("cupy") else IDS[:1], installed("cupy", pytest.mark.gpu)),
}
RUNS = [
    pytest.param(backend, id, marks=marks, id=f"{name}-{id}")
    for id in IDS  # one after the other, so that a process proves few cases
    for name, (backend, ids, marks) in BACKENDS.items()
    if id in ids
]


@pytest.mark.parametrize(("backend", "id"), RUNS)
def test_backend_gives_the_proven_values(backend, id):
    op, params, inputs, names = arguments(id)
    xp, convert, back = backend()
    want, tolerance = golden(id)
    got = run(op, params, {name: convert(array) for name, array in inputs.items()}, names, xp=xp)
    for name in names:
        value = back(got[name])
        assert value.dtype == want[name].dtype, name
        assert value.shape == want[name].shape, name
        value, proven = value.astype(np.float64), want[name].astype(np.float64)  # booleans and integers exactly
        with np.errstate(invalid="ignore"):  # lse of an empty row: -inf on both sides
            off = ~(np.abs(value - proven) <= tolerance[name]) & (value != proven)
        assert not np.any(off), f"{name}: {int(off.sum())} of {off.size} entries leave the tolerance"
