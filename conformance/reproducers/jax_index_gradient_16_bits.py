"""JAX 0.10.2, CPU: the gradient of a row that is taken 300 times, in bfloat16."""

import jax
import jax.numpy as jnp

taken, pullback = jax.vjp(lambda w: jnp.take(w, jnp.zeros(300, int), axis=0), jnp.ones((2, 1), jnp.bfloat16))
print("got ", pullback(jnp.ones_like(taken))[0][0, 0])  # 256
print("want", 300.0)
