"""The gradient of F.embedding of one id, 300 times: 300 ones, added up in the 16 bits of the weight on the CPU."""

import torch
import torch.nn.functional as F

weight = torch.ones(2, 1, dtype=torch.bfloat16, requires_grad=True)
F.embedding(torch.zeros(300, dtype=torch.long), weight).sum().backward()
print(weight.grad)  # 300 is a bfloat16
assert weight.grad.tolist() == [[256.0], [0.0]]
