"""ONNX Runtime on the CPU, outputs only: the models of onnx_models.py, and one operator of its own.

refimpl check --entry conformance.onnxruntime:run --forward
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as state

from conformance.onnx_models import BUILDERS, Graph, build, results
from refimpl.check import Unsupported


def run(
    op: str, params: Mapping[str, Any], inputs: Mapping[str, np.ndarray], want: Sequence[str]
) -> dict[str, np.ndarray]:
    """Run one op on named arrays; `want` names the results."""
    if any(array.dtype == ml_dtypes.bfloat16 for array in inputs.values()):
        raise Unsupported("bfloat16: no array of it can be fed from NumPy")
    graph = build(op, params, inputs, want, OPS)
    try:
        session = onnxruntime.InferenceSession(
            graph.model().SerializeToString(), OPTIONS, providers=["CPUExecutionProvider"]
        )
    except (state.NotImplemented, state.InvalidGraph) as error:  # no kernel, or no such operator, for a dtype
        raise Unsupported(str(error).splitlines()[0]) from None
    return results(graph, want, session.run(graph.names(want), graph.feeds))


OPTIONS = onnxruntime.SessionOptions()
OPTIONS.intra_op_num_threads = 1
OPTIONS.log_severity_level = 4


def bert_embedding(
    g: Graph,
    ids: np.ndarray,
    segments: np.ndarray,
    weight: np.ndarray,
    segment_weight: np.ndarray,
    position_weight: np.ndarray,
    norm_weight: np.ndarray,
    norm_bias: np.ndarray,
    positions: np.ndarray | None = None,
    keep: np.ndarray | None = None,
    eps: float = 1e-12,
    **_: Any,
) -> None:
    """EmbedLayerNormalization of com.microsoft, which takes int32 ids."""
    if keep is not None:
        raise Unsupported("a given dropout mask")
    tables = (weight, position_weight, segment_weight, norm_weight, norm_bias)
    tokens = (ids.astype(np.int32), segments.astype(np.int32))
    places = None if positions is None else np.broadcast_to(positions, ids.shape).astype(np.int32)
    g.outputs["y"], _ = g.node(
        "EmbedLayerNormalization", *tokens, *tables, None, places, results=2, domain="com.microsoft", epsilon=eps
    )


OPS: dict[str, Callable[..., None]] = BUILDERS | {"bert_embedding": bert_embedding}
