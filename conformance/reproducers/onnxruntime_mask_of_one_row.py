"""ONNX Runtime 1.32.0: Attention with a mask of one row; the standard lets it broadcast to (B, H, T, S)."""

import numpy as np
import onnxruntime
from onnx import parser

TEXT = '<ir_version: 10, opset_import: ["": 23]> m (float[1,1,3,2] q, bool[1,1,1,3] mask) => (float[1,1,3,2] y)'
model = parser.parse_model(TEXT + "{ y = Attention(q, q, q, mask) }")
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
print(session.run(None, {"q": np.ones((1, 1, 3, 2), np.float32), "mask": np.ones((1, 1, 1, 3), bool)}))
# got: Fail, inconsistent q_sequence_length (between attn_mask and Q); want: ones
