"""JAX 0.10.2: a query whose keys are all masked. A convention: nothing is 0, or the mean of everything."""

import jax
import jax.numpy as jnp

q, v = jnp.ones((1, 2, 1, 1)), jnp.asarray([1.0, 3.0]).reshape(1, 2, 1, 1)
y, lse = jax.nn.dot_product_attention(q, q, v, mask=jnp.zeros((1, 1, 2, 2), bool), return_residual=True)
print("got ", y.ravel(), lse.ravel())  # [2. 2.], -2.38e+38
print("want", 0.0, -jnp.inf)
