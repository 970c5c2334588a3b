"""The gradient of the bias of F.layer_norm is the sum of dy over rows: 2,048 ones, added up in 16 bits on the CPU."""

import torch
import torch.nn.functional as F

weight, bias = (torch.ones(4, dtype=torch.bfloat16, requires_grad=True) for _ in range(2))
F.layer_norm(torch.randn(2048, 4, dtype=torch.bfloat16), (4,), weight, bias).sum().backward()
print(bias.grad)  # 2048 is a bfloat16
assert (bias.grad < 2048).all()
