"""MLX 0.32.4, CPU: nn.Upsample, cubic, from 5 to 7; the middle of the result is the middle of the input."""

import mlx.core as mx
import mlx.nn as nn

mx.set_default_device(mx.cpu)
x = mx.array([1.0, 2.0, 3.0, 4.0, 5.0]).reshape(1, 1, 5, 1)
y = nn.Upsample((1.0, 1.4), mode="cubic", align_corners=False)(x)
print("got ", y.reshape(7)[3].item())  # -5.96e-07
print("want", 3.0)
