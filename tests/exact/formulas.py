"""Small computations on the plain Array API, `formula(xp, *arrays)`, with inputs that every profile holds exactly."""

from typing import Any

import numpy as np


def softmax(xp: Any, x: Any) -> Any:
    e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)


def attention(xp: Any, q: Any, k: Any, v: Any) -> Any:
    scores = xp.matmul(q, xp.matrix_transpose(k)) / xp.sqrt(xp.constant(q.shape[-1]))
    return xp.matmul(softmax(xp, scores), v)


def layer_norm(xp: Any, x: Any) -> Any:
    n = x.shape[-1]
    centred = x - xp.sum(x, axis=-1, keepdims=True) / n
    variance = xp.sum(centred * centred, axis=-1, keepdims=True) / n
    return centred / xp.sqrt(variance + xp.constant(1e-5))


def log_sum_exp(xp: Any, x: Any) -> Any:
    m = xp.max(x, axis=-1)
    return m + xp.log(xp.sum(xp.exp(x - m[..., None]), axis=-1))


def rotation(xp: Any, x: Any, y: Any) -> Any:
    angle = x * xp.constant(0.1) * 12
    return xp.cos(angle) * x - xp.sin(angle) * y


def gelu(xp: Any, x: Any) -> Any:
    inner = xp.constant(0.7978845608028654) * (x + xp.constant(0.044715) * x * x * x)
    return x * (1 + xp.tanh(inner)) / 2


def power_law(xp: Any, x: Any, y: Any) -> Any:
    return xp.sum(xp.pow(xp.abs(x), y) * y, axis=-1)


def numbers(*shape: int, seed: int, scale: float = 1.0) -> np.ndarray:
    """Return odd multiples of scale / 256: never 0, both signs."""
    k = np.random.default_rng(seed).integers(-128, 128, size=shape)
    return (2 * k + 1) * scale / 256


FORMULAS = {
    "softmax": (softmax, (numbers(3, 13, seed=1, scale=8),)),
    "attention": (attention, (numbers(3, 5, seed=2), numbers(11, 5, seed=3), numbers(11, 2, seed=4, scale=4))),
    "layer_norm": (layer_norm, (numbers(3, 17, seed=5),)),
    "log_sum_exp": (log_sum_exp, (numbers(4, 19, seed=6, scale=2),)),
    "rotation": (rotation, (numbers(29, seed=7), numbers(29, seed=8))),
    "gelu": (gelu, (numbers(31, seed=9, scale=4),)),
    "power_law": (power_law, (numbers(5, 7, seed=10, scale=2), numbers(5, 7, seed=11))),
}
