"""MLX 0.32.4, CPU: the gradient of a row that is read 300 times, in bfloat16."""

import mlx.core as mx

mx.set_default_device(mx.cpu)
weight, ids = mx.ones((2, 1), dtype=mx.bfloat16), mx.zeros(300, dtype=mx.int32)
print("got ", mx.grad(lambda w: w[ids].sum())(weight)[0].item())  # 256
print("want", 300.0)
