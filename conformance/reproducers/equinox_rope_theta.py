"""Equinox 0.13.8: RotaryPositionalEmbedding keeps tables by width and dtype, and forgets theta."""

import equinox as eqx
import jax.numpy as jnp

x = jnp.ones((3, 4))
eqx.nn.RotaryPositionalEmbedding(4, theta=10000.0)(x)
print("got ", eqx.nn.RotaryPositionalEmbedding(4, theta=4.0)(x)[2])  # those of theta = 10000
c, s = jnp.cos(jnp.asarray([2.0, 1.0])), jnp.sin(jnp.asarray([2.0, 1.0]))  # position 2, frequencies 1 and 4 ** -0.5
print("want", jnp.concatenate([c - s, s + c]))
