"""JAX 0.10.2, CPU: float16 attention runs op by op, and is refused under jit."""

import jax
import jax.numpy as jnp

q = jnp.ones((1, 2, 1, 4), jnp.float16)
print("without jit", jax.nn.dot_product_attention(q, q, q).dtype)
print("want the same; got")
jax.jit(jax.nn.dot_product_attention)(q, q, q)  # ValueError: The precision 'F16_F16_F32' is not supported
