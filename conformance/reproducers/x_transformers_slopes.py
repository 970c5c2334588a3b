"""AlibiPositionalBias multiplies its slopes up from one that was rounded: the second of 25 is not 2^-1 to the bit."""

from x_transformers.x_transformers import AlibiPositionalBias

slopes = AlibiPositionalBias._get_slopes(25)
print([slope.hex() for slope in slopes[:16]])
assert slopes[1] != 0.5
