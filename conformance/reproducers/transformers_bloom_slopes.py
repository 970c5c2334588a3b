"""BLOOM's slopes are powers of a base that was rounded to float32: 2^-1, the second of 25, comes out below 0.5."""

import torch
from transformers.models.bloom.modeling_bloom import build_alibi_tensor

slopes = build_alibi_tensor(torch.ones(1, 2), 25, torch.float32)[:, 0, 1]
exact = torch.tensor([2.0 ** (-h / 2) for h in range(1, 17)])
print((slopes[:16] - exact) / exact * 2**24, "in units of 2^-24")
assert slopes[1] < 0.5
