"""JAX 0.10.2: jax.image.resize, "cubic". A convention: a = -0.5 and weights shared out again at the edges."""

import jax
import jax.numpy as jnp

print("got ", jax.image.resize(jnp.asarray([1.0, 2.0, 4.0]), (5,), "cubic", antialias=False))
print("want [0.904 1.244 2. 3.296 4.192] with a = -0.75 and the edge repeated, as PyTorch and MLX")
