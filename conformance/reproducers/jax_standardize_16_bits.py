"""JAX 0.10.2: jax.nn.standardize in float16, the gradient where the variance is small."""

import jax
import jax.numpy as jnp

x = jnp.asarray([0.001, -0.002, 0.003, 0.001], jnp.float16)
grad = jax.grad(lambda x: (jax.nn.standardize(x) * jnp.arange(4.0, dtype=x.dtype)).sum())
print("got ", grad(x))  # nan: its eps ** -1.5 is over the largest float16
print("want", grad(x.astype(jnp.float32)).astype(jnp.float16))
