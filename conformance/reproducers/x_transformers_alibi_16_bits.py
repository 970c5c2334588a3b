"""AlibiPositionalBias in bfloat16 rounds the distance before it multiplies: of 256 and 257 it makes one."""

import torch
from x_transformers.x_transformers import AlibiPositionalBias

module = AlibiPositionalBias(heads=1, slopes=[0.6875]).to(torch.bfloat16)
bias = module.forward_custom_pos(torch.tensor([256, 257]), torch.tensor([0])).flatten()
once = (-0.6875 * torch.tensor([256.0, 257.0])).to(torch.bfloat16)
print(bias, once)
assert bias.tolist() == [-176, -176]
assert once.tolist() == [-176, -177]
