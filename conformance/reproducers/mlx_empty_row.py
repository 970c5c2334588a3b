"""MLX 0.32.4, CPU: a row without keys, in three ways, and the gradient of one. Conventions, apart from the last."""

import mlx.core as mx

mx.set_default_device(mx.cpu)
q, v, none = mx.ones((1, 1, 2, 1)), mx.array([1.0, 3.0]).reshape(1, 1, 2, 1), mx.zeros((2, 2), dtype=mx.bool_)
for mask in (none, mx.where(none, 0.0, -mx.inf)):  # got 2, the mean, and nan; want 0
    print("got ", mx.fast.scaled_dot_product_attention(q, q, v, scale=1.0, mask=mask).reshape(2), "want 0")
print("got ", mx.softmax(mx.full((2,), -mx.inf)), "want 0")
masked = lambda x: mx.logsumexp(mx.where(none[0], x, -mx.inf))  # noqa: E731
print("got ", mx.grad(masked)(mx.ones(2)), "want 0: no key has a share")
