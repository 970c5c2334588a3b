"""Every case on every array library: the proven values, within the derived float64 tolerance."""

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from refimpl.ops import run
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


def installed(module: str, *marks: Any) -> tuple[Any, ...]:
    present = importlib.util.find_spec(module) is not None
    return (*marks, pytest.mark.skipif(not present, reason=f"{module} is not installed"))


BACKENDS = [
    pytest.param(lambda: (np, np.asarray, np.asarray), id="numpy"),
    pytest.param(numpy_read_only, id="numpy-read-only"),
    pytest.param(lambda: strict("CPU_DEVICE"), id="strict"),
    pytest.param(lambda: strict("device1"), id="strict-device1"),
    pytest.param(torch, id="torch", marks=installed("torch")),
    pytest.param(jax, id="jax", marks=installed("jax")),
    pytest.param(cupy, id="cupy", marks=installed("cupy", pytest.mark.gpu)),
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("id", IDS)
def test_backend_gives_the_proven_values(id, backend):
    op, params, inputs, names = arguments(id)
    xp, convert, back = backend()
    want, tolerance = golden(id)
    got = run(op, params, {name: convert(array) for name, array in inputs.items()}, names, xp=xp)
    for name in names:
        value = back(got[name])
        assert value.dtype == np.float64, name
        assert value.shape == want[name].shape, name
        off = ~(np.abs(value - want[name]) <= tolerance[name]) & (value != want[name])
        assert not np.any(off), f"{name}: {int(off.sum())} of {off.size} entries leave the tolerance"
