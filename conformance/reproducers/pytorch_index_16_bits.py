"""The gradient of one row read 300 times by index: 300 ones, added up in the 16 bits of the table on the CPU."""

import torch

table = torch.ones(2, 1, dtype=torch.bfloat16, requires_grad=True)
table[torch.zeros(300, dtype=torch.long)].sum().backward()
print(table.grad)  # 300 is a bfloat16
assert table.grad.tolist() == [[256.0], [0.0]]
