"""ONNX Runtime 1.32.0: scores after the mask (qk_matmul_output_mode = 2) where a key is masked."""

import numpy as np
import onnxruntime
from onnx import parser

TEXT = '<ir_version: 10, opset_import: ["": 23]> m (float[1,1,1,2] q, bool[1,1] mask)'
model = parser.parse_model(
    TEXT
    + "=> (float[1,1,1,2] y, float[1,1,1,1] s) { y, pk, pv, s = Attention<qk_matmul_output_mode = 2>(q, q, q, mask) }"
)
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
got = session.run(None, {"q": np.ones((1, 1, 1, 2), np.float32), "mask": np.zeros((1, 1), bool)})
print("got ", got[1].item(), "with y =", got[0].ravel())  # -3.4028235e+38, with y = 0
print("want", -np.inf)
