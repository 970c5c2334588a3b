"""JAX 0.10.2: a Python number is rounded to the array's 16 bits before it multiplies."""

import jax.numpy as jnp

print("got ", jnp.bfloat16(5.0) * 7**0.5)  # 13.1875, of 5 * 2.640625 = 13.203
print("want", jnp.bfloat16(5.0 * 7**0.5))  # 13.25, of 5 * 2.645751 = 13.229
