"""How the definitions are checked: against printed numbers, against torch, and each gradient against its definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mpmath import mp

from . import DEFINITIONS, GRADIENTS
from .scalars import Arrays, Inputs, Params, exact


def floats(array: Any) -> np.ndarray:
    return np.asarray(array, dtype=np.float64)


def close(got: Any, want: Any, tolerance: float = 1e-13) -> None:
    got, want = floats(got), floats(want)
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def y(op: str, inputs: Inputs, **params: Any) -> np.ndarray:
    return DEFINITIONS[op](inputs, params)["y"]


def random_cotangents(outputs: Any) -> Arrays:
    generator = np.random.default_rng(22)
    return {name: generator.normal(size=tuple(value.shape)) for name, value in outputs.items()}


def loss(op: str, inputs: Inputs, params: Params, cotangents: Inputs) -> Any:
    outputs = DEFINITIONS[op](inputs, params)
    return mp.fsum(
        c * value
        for name, cotangent in cotangents.items()
        for c, value in zip(exact(cotangent).flat, outputs[name].flat, strict=True)
        if value != -mp.inf
    )


def assert_gradient_is_the_derivative(op: str, inputs: Inputs, params: Params, fixed: tuple[str, ...] = ()) -> None:
    """<gradient, u> is the central difference of the loss along a random u, input by input; a padding row is spared."""
    cotangents = random_cotangents(DEFINITIONS[op](inputs, params))
    gradient = GRADIENTS[op](inputs, params, cotangents)
    assert set(gradient) == {name for name, array in inputs.items() if array.dtype.kind == "f"} - set(fixed)
    spared = {"weight": params.get("padding_idx"), "position_weight": params.get("position_padding_idx")}
    generator = np.random.default_rng(23)
    for name in gradient:
        assert gradient[name].shape == inputs[name].shape, name
        direction = exact(generator.normal(size=inputs[name].shape))
        if spared.get(name) is not None:
            assert all(value == 0 for value in gradient[name][spared[name]])
            direction[spared[name]] *= 0
        with mp.workdps(120):
            step, point = mp.mpf(10) ** -40, exact(inputs[name])
            ahead = loss(op, {**inputs, name: np.asarray(point + step * direction)}, params, cotangents)
            behind = loss(op, {**inputs, name: np.asarray(point - step * direction)}, params, cotangents)
            slope = (ahead - behind) / (2 * step)
            projection = mp.fsum(g * u for g, u in zip(gradient[name].flat, direction.flat, strict=True))
            assert mp.almosteq(projection, slope, rel_eps=1e-50, abs_eps=1e-50), name


def tensors(inputs: Inputs) -> tuple[Any, dict[str, Any]]:
    torch = pytest.importorskip("torch")
    return torch, {name: torch.tensor(array, requires_grad=array.dtype.kind == "f") for name, array in inputs.items()}


def assert_agrees(op: str, inputs: Inputs, params: Params, outputs: Any, leaves: Any, tolerance: float = 1e-12) -> None:
    """Outputs and gradients of the definition equal torch's, for one random cotangent an output."""
    cotangents = random_cotangents(outputs)
    got = DEFINITIONS[op](inputs, params)
    assert set(outputs) <= set(got)
    for name, value in outputs.items():
        close(got[name], value.detach().numpy(), tolerance)
    sum((value * value.new_tensor(cotangents[name])).sum() for name, value in outputs.items()).backward()
    for name, gradient in GRADIENTS[op](inputs, params, cotangents).items():
        close(gradient, leaves[name].grad.numpy(), tolerance)
