"""DeBERTa divides both terms by sqrt(3 D), then adds: of what cancels, the rounding of the terms is left."""

import torch
from transformers.models.deberta_v2.modeling_deberta_v2 import scaled_size_sqrt

c2p, p2c = torch.tensor(1.0), torch.tensor(-1.0 - 2**-12)
root = scaled_size_sqrt(torch.ones(1), 3)  # as disentangled_attention_bias uses it
y = c2p / root + p2c / root
print(float(y), -(2**-12) / 3**0.5, float((c2p + p2c) / root))
assert abs(float(y) / (-(2**-12) / 3**0.5) - 1) > 1e-5
assert abs(float((c2p + p2c) / root) / (-(2**-12) / 3**0.5) - 1) < 1e-7
