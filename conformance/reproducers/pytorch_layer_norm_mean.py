"""The mean that F.layer_norm takes off, in float64: -27 / 256 to the bit, yet it is two units in the last place off."""

import torch

x = torch.tensor([-23, 77, 215, 5, -199, -197, 97, 209, -215, -73, -193], dtype=torch.float64) / 256
_, mean, _ = torch.native_layer_norm(x, (11,), None, None, 1e-12)
print(float(mean).hex(), float(x.mean()).hex(), (-27 / 256).hex())
assert mean != -27 / 256
assert x.mean() == -27 / 256
