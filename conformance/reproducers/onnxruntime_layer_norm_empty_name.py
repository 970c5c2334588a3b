"""ONNX Runtime 1.32.0: a float32 LayerNormalization whose absent bias is written as "" ends the process (SIGSEGV)."""

import onnxruntime
from onnx import checker, parser

TEXT = '<ir_version: 10, opset_import: ["": 23]> m (float[5, 3] x, float[3] w) => (float[5, 3] y)'
model = parser.parse_model(TEXT + "{ y = LayerNormalization(x, w) }")
model.graph.node[0].input.append("")  # allowed for an optional input that is left out
checker.check_model(model)
onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
print("want: this line; without the empty name, or in float64, it comes")
