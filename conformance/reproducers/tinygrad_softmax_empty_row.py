"""tinygrad 0.14.0: softmax of a row of -inf. A convention: 0 / 0, or an empty sum."""

import os
import shutil

os.environ.setdefault("DEV", "CPU" if shutil.which("clang") else "PYTHON")
from tinygrad import Tensor

print("got ", Tensor([-float("inf")] * 2).softmax().numpy())  # [nan nan]
print("want", [0.0, 0.0], "as an empty sum")
