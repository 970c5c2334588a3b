"""JAX 0.10.2: the gradient of the lse that dot_product_attention returns is 0 (stop_gradient), without a word."""

import jax
import jax.numpy as jnp

one = jnp.ones((1, 1, 1, 4))
lse = lambda q: jax.nn.dot_product_attention(q, one, one, return_residual=True)[1].sum()  # noqa: E731
print("lse ", lse(one))
print("got ", jax.grad(lse)(one).ravel())
print("want", 0.5 * one.ravel(), "= k / sqrt(4)")
