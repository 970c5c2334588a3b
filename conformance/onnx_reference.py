"""The reference evaluator of ONNX, outputs only: the models of onnx_models.py, run in NumPy.

refimpl check --entry conformance.onnx_reference:run --forward
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx.reference import ReferenceEvaluator

from conformance.onnx_models import BUILDERS as OPS
from conformance.onnx_models import build, results


def run(
    op: str, params: Mapping[str, Any], inputs: Mapping[str, np.ndarray], want: Sequence[str]
) -> dict[str, np.ndarray]:
    """Run one op on named arrays; `want` names the results."""
    graph = build(op, params, inputs, want, OPS)
    return results(graph, want, ReferenceEvaluator(graph.model()).run(graph.names(want), graph.feeds))
