"""M2M-100's sinusoids of width 2 divide by half the width minus one."""

from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding

try:
    M2M100SinusoidalPositionalEmbedding.get_embedding(4, 2)
    raise AssertionError("it does not")
except ZeroDivisionError as error:
    print(error)
