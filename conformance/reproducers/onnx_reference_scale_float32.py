"""ONNX reference evaluator 1.23.2: scale of a float64 Attention; its root is taken in float32."""

import numpy as np
from onnx import parser
from onnx.reference import ReferenceEvaluator

TEXT = '<ir_version: 10, opset_import: ["": 23]> m (double[1,1,1,1] q) => (double[1,1,1,1] y, double[1,1,1,1] s)'
model = parser.parse_model(TEXT + "{ y, pk, pv, s = Attention<scale = 0.75>(q, q, q) }")
print("got ", ReferenceEvaluator(model).run(None, {"q": np.ones((1, 1, 1, 1))})[1].item())  # 0.749999973077653
print("want", 0.75, "the score of q = k = 1")
