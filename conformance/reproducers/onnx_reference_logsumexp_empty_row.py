"""ONNX reference evaluator 1.23.2: ReduceLogSumExp of a row of -inf; ONNX Runtime 1.32.0 gives -inf."""

import numpy as np
from onnx import parser
from onnx.reference import ReferenceEvaluator

model = parser.parse_model(
    '<ir_version: 10, opset_import: ["": 23]> m (float[1, 2] x) => (float[1, 1] y) { y = ReduceLogSumExp(x) }'
)
print("got ", *ReferenceEvaluator(model).run(None, {"x": np.full((1, 2), -np.inf, np.float32)}))  # [[nan]]
print("want", -np.inf, "= log(exp(-inf) + exp(-inf)) = log 0")
