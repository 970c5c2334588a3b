"""Ops as ONNX models of opset 23, built in memory: the operators of the standard, and no formula of our own.

What the standard has no operator for is Unsupported. Outputs only: ONNX has no gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper

from refimpl.check import Unsupported

OPSET, IR_VERSION = 23, 10
Arrays = Mapping[str, np.ndarray]
SCORES_AFTER_MASK = 2  # of qk_matmul_output_mode


class Graph:
    """Nodes, and the arrays that are fed to them; `outputs` are named as the op names its results."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.feeds: dict[str, np.ndarray] = {}
        self.outputs: dict[str, str] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}  # of results that go back to their leading axes

    def feed(self, array: np.ndarray) -> str:
        name = f"in{len(self.feeds)}"
        self.feeds[name] = np.ascontiguousarray(array)
        return name

    def node(self, op: str, *inputs: str | np.ndarray | None, results: int = 1, **attributes: Any) -> Any:
        """Add a node on names or arrays, None for an input that is left out; return the names of its results."""
        names = ["" if x is None else x if isinstance(x, str) else self.feed(x) for x in inputs]
        while names[-1] == "":  # ONNX Runtime 1.32 ends in a segmentation fault on LayerNormalization with such a name
            names.pop()
        made = [f"{op}{len(self.nodes)}_{i}" for i in range(results)]
        self.nodes.append(helper.make_node(op, names, made, **attributes))
        return made[0] if results == 1 else made

    def names(self, want: Sequence[str]) -> list[str]:
        return [self.outputs[name] for name in want]

    def model(self) -> onnx.ModelProto:
        kind = {name: helper.np_dtype_to_tensor_dtype(array.dtype) for name, array in self.feeds.items()}
        fed = [helper.make_tensor_value_info(n, kind[n], array.shape) for n, array in self.feeds.items()]
        made = [onnx.ValueInfoProto(name=name) for name in self.outputs.values()]
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(
            helper.make_graph(self.nodes, "op", fed, made), opset_imports=opsets, ir_version=IR_VERSION
        )


def build(
    op: str, params: Mapping[str, Any], inputs: Arrays, want: Sequence[str], builders: Mapping[str, Callable[..., None]]
) -> Graph:
    """Return the graph of one case; raise Unsupported where the standard has no operator for it."""
    if op not in builders:
        raise Unsupported(f"op {op!r}")
    if any(name.startswith("grad.") for name in want):
        raise Unsupported("ONNX has no gradients")
    graph = Graph()
    builders[op](graph, **inputs, **{name: value for name, value in params.items() if name != "dtype"})
    return graph


def results(graph: Graph, want: Sequence[str], arrays: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """Return what came out, by name, with the leading axes that went in."""
    return {name: array.reshape(graph.shapes.get(name, array.shape)) for name, array in zip(want, arrays, strict=True)}


def four(x: np.ndarray) -> np.ndarray:
    """Return x with four axes: its leading ones as one."""
    return x.reshape(-1, *x.shape[-3:])


# door 1


def lookup(g: Graph, ids: np.ndarray, weight: np.ndarray, scale_by_sqrt_width: bool = False, **_: Any) -> None:
    """Gather; the scale is multiplied in float32 at least, since 16 bits would round it."""
    y = g.node("Gather", weight, ids, axis=0)
    if scale_by_sqrt_width:
        narrow = helper.np_dtype_to_tensor_dtype(weight.dtype)
        wide = np.dtype(np.float64 if weight.dtype == np.float64 else np.float32)
        y = g.node("Cast", y, to=helper.np_dtype_to_tensor_dtype(wide))
        y = g.node("Cast", g.node("Mul", y, np.asarray(weight.shape[1] ** 0.5, wide)), to=narrow)
    g.outputs["y"] = y


def segment_embedding(g: Graph, segments: np.ndarray, weight: np.ndarray) -> None:
    lookup(g, segments, weight)


def learned_position(g: Graph, positions: np.ndarray, weight: np.ndarray, padding_idx: int | None = None) -> None:
    lookup(g, positions, weight)


def interpolate_positions(
    g: Graph,
    weight: np.ndarray,
    height: int,
    width: int,
    new_height: int,
    new_width: int,
    prefix: int = 0,
    antialias: bool = False,
) -> None:
    """Resize with its own cubic coefficient, -0.75; antialiased with -0.5 and without what lies outside."""
    grid = weight[prefix:].reshape(1, height, width, -1).transpose(0, 3, 1, 2)
    sizes = np.array([*grid.shape[:2], new_height, new_width])
    options: dict[str, Any] = {"antialias": 1, "cubic_coeff_a": -0.5, "exclude_outside": 1} if antialias else {}
    y = g.node("Resize", grid, None, None, sizes, mode="cubic", **options)
    rows = g.node("Reshape", g.node("Transpose", y, perm=[0, 2, 3, 1]), np.array([new_height * new_width, -1]))
    g.outputs["y"] = g.node("Concat", weight[:prefix], rows, axis=0) if prefix else rows


def layer_norm(
    g: Graph, x: np.ndarray, weight: np.ndarray | None = None, bias: np.ndarray | None = None, eps: float = 1e-5
) -> None:
    scale = np.ones(x.shape[-1], x.dtype) if weight is None else weight
    g.outputs["y"] = g.node("LayerNormalization", x, scale, bias, axis=-1, epsilon=eps)


def rms_norm(
    g: Graph, x: np.ndarray, weight: np.ndarray | None = None, eps: float = 1e-6, unit_offset: bool = False
) -> None:
    gain: Any = np.ones(x.shape[-1], x.dtype) if weight is None else weight
    gain = g.node("Add", gain, np.ones(1, gain.dtype)) if unit_offset else gain
    g.outputs["y"] = g.node("RMSNormalization", x, gain, axis=-1, epsilon=eps)


def linear(g: Graph, x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None) -> None:
    y = g.node("MatMul", x, weight)
    g.outputs["y"] = y if bias is None else g.node("Add", y, bias)


def tied_head(g: Graph, h: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None) -> None:
    """Gemm with its second factor transposed."""
    y = g.node("Gemm", h.reshape(-1, h.shape[-1]), weight, bias, transB=1)
    g.outputs["y"], g.shapes["y"] = y, (*h.shape[:-1], len(weight))


# door 2


def rope(
    g: Graph,
    x: np.ndarray,
    cos: np.ndarray,
    sin: np.ndarray,
    interleaved: bool = True,
    interleaved_output: bool | None = None,
    partial: int = 0,
) -> None:
    """RotaryEmbedding with one table a batch item: (B, H, T, D) by (B, T, D / 2)."""
    if interleaved_output not in (None, interleaved):
        raise Unsupported("another layout on the way out")
    tables = [table.reshape(-1, *table.shape[-2:]) for table in (cos, sin)]
    rows = x.reshape(len(tables[0]), -1, *x.shape[-2:])
    options = {"rotary_embedding_dim": partial} if partial else {}
    y = g.node("RotaryEmbedding", rows, *tables, None, interleaved=int(interleaved), **options)
    g.outputs["y"], g.shapes["y"] = y, x.shape


def partial_rope(g: Graph, x: np.ndarray, cos: np.ndarray, sin: np.ndarray, interleaved: bool = True) -> None:
    rope(g, x, cos, sin, interleaved, partial=2 * cos.shape[-1])


# where the doors open


def causal_mask(g: Graph, T: int, S: int, q_offset: int) -> None:
    g.outputs["y"] = causal(g, T, S, q_offset)


def window_mask(g: Graph, T: int, S: int, q_offset: int, left: int | None = None, right: int | None = None) -> None:
    y: Any = np.ones((T, S), bool)
    y = y if right is None else g.node("Trilu", y, np.array(q_offset + right), upper=0)
    g.outputs["y"] = y if left is None else g.node("Trilu", y, np.array(q_offset - left), upper=1)


def causal(g: Graph, T: int, S: int, q_offset: int) -> str:
    return g.node("Trilu", np.ones((T, S), bool), np.array(q_offset), upper=0)


def softmax(g: Graph, x: np.ndarray, mask: np.ndarray | None = None) -> None:
    """Softmax of -inf where the mask drops."""
    scores = x if mask is None else g.node("Where", mask, x, np.asarray(-np.inf, x.dtype))
    g.outputs["y"] = g.node("Softmax", scores, axis=-1)


def attention(
    g: Graph,
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    bias: np.ndarray | None = None,
    sink: np.ndarray | None = None,
    mask: np.ndarray | None = None,
    keep: np.ndarray | None = None,
    p: float = 0.0,
    q_offset: int | None = None,
    scale: float | None = None,
    softcap: float | None = None,
) -> None:
    """Attention; lse is ReduceLogSumExp of the scores that it gives back."""
    if sink is not None or keep is not None:
        raise Unsupported("a sink" if sink is not None else "a given dropout mask")
    T, S = q.shape[-2], k.shape[-2]
    options: dict[str, Any] = {"is_causal": 1} if q_offset == 0 else {}
    visible: Any = mask
    if q_offset:
        visible = causal(g, T, S, q_offset)
        visible = visible if mask is None else g.node("And", visible, mask)
    if bias is not None and visible is not None:
        visible = g.node("Where", visible, bias, np.asarray(-np.inf, q.dtype))
    elif bias is not None:
        visible = bias
    attend(g, [four(x) for x in (q, k, v)], visible, options | optional(scale, softcap))
    g.shapes |= {"y": (*q.shape[:-1], v.shape[-1]), "lse": q.shape[:-1]}


def optional(scale: float | None, softcap: float | None) -> dict[str, float]:
    return {name: x for name, x in (("scale", scale), ("softcap", softcap)) if x is not None}


def attend(g: Graph, qkv: list[np.ndarray], mask: Any, options: dict[str, Any], past: Any = (None, None)) -> None:
    y, k_cache, v_cache, scores = g.node(
        "Attention", *qkv, mask, *past, results=4, qk_matmul_output_mode=SCORES_AFTER_MASK, **options
    )
    lse = g.node("ReduceLogSumExp", scores, np.array([-1]), keepdims=0)
    g.outputs |= {"y": y, "lse": lse, "k_cache": k_cache, "v_cache": v_cache}


def attention_decode(
    g: Graph,
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    k_cache: np.ndarray,
    v_cache: np.ndarray,
    bias: np.ndarray | None = None,
    sink: np.ndarray | None = None,
    mask: np.ndarray | None = None,
    scale: float | None = None,
    softcap: float | None = None,
) -> None:
    """Attention with past_key and past_value: is_causal then counts from their length."""
    if sink is not None:
        raise Unsupported("a sink")
    given: Any = mask if bias is None else bias
    if mask is not None and bias is not None:
        given = g.node("Where", mask, bias, np.asarray(-np.inf, q.dtype))
    options: dict[str, Any] = {"is_causal": 1} | optional(scale, softcap)
    attend(g, [four(x) for x in (q, k, v)], given, options, (four(k_cache), four(v_cache)))
    S = k.shape[-2] + k_cache.shape[-2]
    g.shapes |= {"y": (*q.shape[:-1], v.shape[-1]), "lse": q.shape[:-1]}
    g.shapes |= {"k_cache": (*k.shape[:-2], S, k.shape[-1]), "v_cache": (*v.shape[:-2], S, v.shape[-1])}


BUILDERS: dict[str, Callable[..., None]] = {
    "token_embedding": lookup,
    "segment_embedding": segment_embedding,
    "learned_position": learned_position,
    "interpolate_positions": interpolate_positions,
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "tied_head": tied_head,
    "rope": rope,
    "partial_rope": partial_rope,
    "causal_mask": causal_mask,
    "window_mask": window_mask,
    "linear": linear,
    "softmax": softmax,
    "attention": attention,
    "attention_decode": attention_decode,
}
