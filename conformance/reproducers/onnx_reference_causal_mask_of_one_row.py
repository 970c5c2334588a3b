"""ONNX reference evaluator 1.23.2: is_causal with a mask (1, 1, 1, S), all of it True."""

import numpy as np
from onnx import parser
from onnx.reference import ReferenceEvaluator

TEXT = '<ir_version: 10, opset_import: ["": 23]> m (float[1,1,3,1] q, float[1,1,3,1] v, bool[1,1,1,3] mask)'
model = parser.parse_model(TEXT + "=> (float[1,1,3,1] y) { y = Attention<is_causal = 1>(q, q, v, mask) }")
q, v, mask = (
    np.zeros((1, 1, 3, 1), np.float32),
    np.arange(1, 4, dtype=np.float32).reshape(1, 1, 3, 1),
    np.ones((1, 1, 1, 3), bool),
)
print("got ", ReferenceEvaluator(model).run(None, {"q": q, "v": v, "mask": mask})[0].ravel())  # [1. 1. 1.]
print("want", [1.0, 1.5, 2.0], "the means of the first, of two, of three")
