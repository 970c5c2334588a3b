"""rotate_queries_or_keys counts positions in the dtype of the queries: in bfloat16 position 257 is turned as 256."""

import torch
from rotary_embedding_torch import RotaryEmbedding

x = torch.ones(1, 1, 8, dtype=torch.bfloat16)
y = [RotaryEmbedding(8).rotate_queries_or_keys(x, offset=offset) for offset in (256, 257)]
exact = [RotaryEmbedding(8).rotate_queries_or_keys(x.float(), offset=offset) for offset in (256, 257)]
print(y, exact)
assert y[0].equal(y[1])
assert (exact[0] - exact[1]).abs().max() > 0.5
