"""JAX 0.10.2, CPU: the gradient of a bias that is added to three rows, in bfloat16."""

import jax
import jax.numpy as jnp

_, pullback = jax.vjp(lambda b: jnp.zeros((3, 1), jnp.bfloat16) + b, jnp.zeros(1, jnp.bfloat16))
dy = jnp.asarray([[256.0], [1.0], [1.0]], jnp.bfloat16)
print("got ", pullback(dy)[0], "jnp.sum gives", dy.sum(axis=0))
print("want", 258.0)
