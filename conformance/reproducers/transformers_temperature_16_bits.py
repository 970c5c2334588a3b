"""Ministral 3 rounds the temperature of a query to 16 bits, and then the product: its line, in two roundings."""

import torch
from transformers.models.ministral3.modeling_ministral3 import get_llama_4_attn_scale

scale = get_llama_4_attn_scale(torch.tensor([[8.0]]), 2.0, 4)
q = torch.arange(1, 2, 2**-7).to(torch.bfloat16)
theirs, once = q * scale.to(q.dtype).flatten(), (q.double() * scale.double().flatten()).to(q.dtype)
print(int((theirs != once).sum()), "of", len(q), "differ from the product rounded once")
assert (theirs != once).any()
