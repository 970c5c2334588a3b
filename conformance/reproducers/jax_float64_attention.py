"""JAX 0.10.2: float64 attention; its softmax is taken in float32."""

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)
q, v = np.array([1.0, 2.0]).reshape(1, 2, 1, 1), np.array([0.0, 1.0]).reshape(1, 2, 1, 1)
print("got ", repr(jax.nn.dot_product_attention(q, q, v)[0, 0, 0, 0]))
print("want", repr(1 / (1 + np.exp(-1))))
