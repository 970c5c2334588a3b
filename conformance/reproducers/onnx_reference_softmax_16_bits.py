"""ONNX reference evaluator 1.23.2: Softmax of 300 equal numbers in bfloat16; the sum stops at 256."""

import ml_dtypes
import numpy as np
from onnx import parser
from onnx.reference import ReferenceEvaluator

model = parser.parse_model(
    '<ir_version: 10, opset_import: ["": 23]> m (bfloat16[300] x) => (bfloat16[300] y) { y = Softmax(x) }'
)
(y,) = ReferenceEvaluator(model).run(None, {"x": np.zeros(300, ml_dtypes.bfloat16)})
print("got ", y[0])  # 0.00390625, which is 1 / 256
print("want", ml_dtypes.bfloat16(1 / 300))
