"""ONNX reference evaluator 1.23.2: Softmax of a row of -inf. A convention: 0 / 0, or an empty sum."""

import numpy as np
from onnx import parser
from onnx.reference import ReferenceEvaluator

TEXT = '<ir_version: 10, opset_import: ["": 23]> m (float[1, 2] x) => (float[1, 2] y) { y = Softmax(x) }'
model = parser.parse_model(TEXT)
print("got ", *ReferenceEvaluator(model).run(None, {"x": np.full((1, 2), -np.inf, np.float32)}))  # [[nan nan]]
print("want", [[0.0, 0.0]], "as Attention has it")
