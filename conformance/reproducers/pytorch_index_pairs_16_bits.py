"""A row read once a pair: each pair's gradient is rounded to 16 bits before the sum, and what cancels is lost."""

import torch

table = torch.zeros(1, dtype=torch.float16, requires_grad=True)
q = torch.tensor([1 + 2**-10, -1], dtype=torch.float16)
dy = torch.tensor([1 + 2**-10, 1 + 2**-9], dtype=torch.float16)
(table[[0, 0]] * q).backward(dy)
print(table.grad, q.double() @ dy.double())  # 2^-20 is a float16
assert table.grad == 0
assert q.double() @ dy.double() == 2**-20
