"""F.softmax of a row with every key masked is NaN; scaled_dot_product_attention gives 0 for it."""

import torch
import torch.nn.functional as F

y = F.softmax(torch.full((3,), -torch.inf), dim=-1)
q = k = v = torch.ones(1, 1, 2, 4)
none = F.scaled_dot_product_attention(q, k, v, attn_mask=torch.zeros(2, 2, dtype=torch.bool))
print(y, none)
assert y.isnan().all()
assert (none == 0).all()
