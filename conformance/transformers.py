"""Hugging Face transformers: its rope rules, and the position code of its models, by function or module.

    refimpl check --entry conformance.transformers:run

Frequencies and angles are float32 there in every model, norms too. Every gradient is torch.autograd's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import transformers

from conformance import (
    transformers_bias,
    transformers_embeddings,
    transformers_frequencies,
    transformers_masks,
    transformers_rotary,
)
from conformance.torch_arrays import Function, answer

__version__ = transformers.__version__


def run(
    op: str, params: Mapping[str, Any], inputs: Mapping[str, np.ndarray], want: Sequence[str]
) -> dict[str, np.ndarray]:
    return answer(OPS, op, params, inputs, want)


OPS: dict[str, Function] = {
    **transformers_embeddings.OPS,
    **transformers_frequencies.OPS,
    **transformers_rotary.OPS,
    **transformers_bias.OPS,
    **transformers_masks.OPS,
}
