"""MLX 0.32.4: a Python number is rounded to the array's 16 bits before it multiplies."""

import mlx.core as mx

x = mx.array([5.0], dtype=mx.bfloat16)
print("got ", (x * 7**0.5).item())  # 13.1875, of 5 * 2.640625 = 13.203
print("want", mx.array([5.0 * 7**0.5]).astype(mx.bfloat16).item())  # 13.25, of 5 * 2.645751 = 13.229
