"""DataDependentAlibi leaves c[i] - c[j], above 0, on keys ahead of the query, for the causal mask to remove."""

import torch
from x_transformers.x_transformers import DataDependentAlibi

bias = DataDependentAlibi(4, 1)(torch.ones(1, 3, 4))[0, 0]
print(bias)
assert (bias.triu(1)[bias.triu(1) != 0] > 0).all()
