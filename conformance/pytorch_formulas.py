"""Formulas written out over PyTorch's arrays, for what PyTorch has no function for.

    refimpl check --entry conformance.pytorch_formulas:run

What is checked is the fixtures, against one more author, and PyTorch's elementary operations with its autograd;
nobody's public function is. The formulas are those that model repositories write by hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from conformance import formulas_attention, formulas_bias, formulas_embeddings, formulas_frequencies, formulas_rotary
from conformance.torch_arrays import Function, answer

__version__ = str(torch.__version__)


def run(
    op: str, params: Mapping[str, Any], inputs: Mapping[str, np.ndarray], want: Sequence[str]
) -> dict[str, np.ndarray]:
    return answer(OPS, op, params, inputs, want)


OPS: dict[str, Function] = {
    **formulas_embeddings.OPS,
    **formulas_frequencies.OPS,
    **formulas_rotary.OPS,
    **formulas_bias.OPS,
    **formulas_attention.OPS,
}
