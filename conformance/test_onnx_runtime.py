"""ONNX Runtime: Attention and RotaryEmbedding of opset 23, within the derived float32 tolerance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from refimpl import exact
from refimpl.fixtures.golden import computation

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

RNG = np.random.default_rng(23)
TYPES = {"float32": onnx.TensorProto.FLOAT, "int64": onnx.TensorProto.INT64, "bool": onnx.TensorProto.BOOL}


def real(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


Q, K, V = real(2, 6, 3, 4), real(2, 2, 5, 4), real(2, 2, 5, 7)
X, ANGLES = real(2, 3, 5, 8), np.arange(5)[:, None] * 10000.0 ** (-np.arange(4) / 4)
COS, SIN = np.cos(ANGLES).astype(np.float32), np.sin(ANGLES).astype(np.float32)
POSITIONS = np.tile(np.arange(5), (2, 1))


def onnx_runs(op: str, inputs: Mapping[str, np.ndarray | None], **attributes: Any) -> np.ndarray:
    """Run one node on the CPU; an input that is None is left out, as ONNX writes it."""
    given = {name: array for name, array in inputs.items() if array is not None}
    names = [name if name in given else "" for name in inputs]
    values = [onnx.helper.make_tensor_value_info(n, TYPES[a.dtype.name], a.shape) for n, a in given.items()]
    outputs = ["Y", "present_key", "present_value"] if "past_key" in given else ["Y"]
    node = onnx.helper.make_node(op, names, outputs, **attributes)
    results = [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, None) for n in outputs]
    graph = onnx.helper.make_graph([node], op, values, results)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 23)], ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, given)[0]


def budget(got: np.ndarray, op: str, inputs: dict[str, np.ndarray], **params: Any) -> float:
    """Return the worst error over the float32 tolerance of our op; 1 is the limit."""
    compute = computation(op, params, inputs, ["y"])
    want = exact.prove(compute)["y"]
    tolerance = exact.bound(compute, "f32", {"y": want})["y"]
    error = np.abs(got - want)
    return float(np.max(np.where(error == 0, 0, error / np.where(tolerance == 0, np.finfo(float).tiny, tolerance))))


ATTENTION: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "grouped heads: kv head is h // group": ({}, {}),
    "scale": ({"scale": 0.25}, {"scale": 0.25}),
    "is_causal is top-left without a cache": ({"is_causal": 1}, {"q_offset": 0}),
    "softcap": ({"softcap": 2.0}, {"softcap": 2.0}),
    "softcap before the causal mask": ({"softcap": 2.0, "is_causal": 1}, {"softcap": 2.0, "q_offset": 0}),
}


@pytest.mark.parametrize("name", ATTENTION)
def test_attention(name: str) -> None:
    attributes, params = ATTENTION[name]
    got = onnx_runs("Attention", {"Q": Q, "K": K, "V": V}, **attributes)
    assert budget(got, "attention", {"q": Q, "k": K, "v": V}, **params) <= 1


def test_a_cache_moves_the_causal_corner() -> None:
    """past_key of length P means q_offset = P."""
    past: dict[str, np.ndarray] = {"past_key": K[:, :, :2], "past_value": V[:, :, :2]}
    new: dict[str, np.ndarray | None] = {"Q": Q, "K": K[:, :, 2:], "V": V[:, :, 2:], "attn_mask": None}
    got = onnx_runs("Attention", new | past, is_causal=1)
    assert budget(got, "attention", {"q": Q, "k": K, "v": V}, q_offset=2) <= 1


def test_boolean_masks_keep_where_true_and_an_empty_row_is_zero() -> None:
    mask = np.ones((3, 5), dtype=bool)
    mask[0, 1], mask[1] = False, False
    got = onnx_runs("Attention", {"Q": Q, "K": K, "V": V, "attn_mask": mask})
    assert np.all(got[:, :, 1] == 0)
    assert budget(got, "attention", {"q": Q, "k": K, "v": V, "mask": mask}) <= 1


def test_a_float_mask_is_a_bias() -> None:
    bias = real(1, 6, 3, 5)
    got = onnx_runs("Attention", {"Q": Q, "K": K, "V": V, "attn_mask": bias})
    assert budget(got, "attention", {"q": Q, "k": K, "v": V, "bias": bias}) <= 1


@pytest.mark.parametrize("interleaved", [False, True])
def test_rotary_embedding(interleaved: bool) -> None:
    given = {"X": X, "cos": COS, "sin": SIN, "positions": POSITIONS}
    got = onnx_runs("RotaryEmbedding", given, interleaved=int(interleaved))
    assert budget(got, "rope", {"x": X, "cos": COS, "sin": SIN}, interleaved=interleaved) <= 1


@pytest.mark.parametrize("interleaved", [False, True])
def test_partial_rotary_embedding(interleaved: bool) -> None:
    cos, sin = COS[:, :2], SIN[:, :2]
    given = {"X": X, "cos": cos, "sin": sin, "positions": POSITIONS}
    got = onnx_runs("RotaryEmbedding", given, interleaved=int(interleaved), rotary_embedding_dim=4)
    assert budget(got, "partial_rope", {"x": X, "cos": cos, "sin": sin}, interleaved=interleaved) <= 1


def test_the_comparison_can_fail() -> None:
    got = onnx_runs("RotaryEmbedding", {"X": X, "cos": COS, "sin": SIN, "positions": POSITIONS}, interleaved=0)
    assert budget(got, "rope", {"x": X, "cos": COS, "sin": SIN}, interleaved=True) > 1000
