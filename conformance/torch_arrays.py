"""What adapters over PyTorch share: arrays in and out, and gradients by torch.autograd."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import torch
from torch import Tensor

from refimpl.check import Unsupported

Function = Callable[..., Tensor | dict[str, Tensor]]


def answer(
    ops: Mapping[str, Function],
    op: str,
    params: Mapping[str, Any],
    inputs: Mapping[str, np.ndarray],
    want: Sequence[str],
) -> dict[str, np.ndarray]:
    """Run one op of a table on named arrays, forward and where asked backward; `want` names the results."""
    if op not in ops:
        raise Unsupported(f"op {op!r}")
    tensors = {name: to_torch(array) for name, array in inputs.items()}
    cotangents = {name[4:]: tensors.pop(name) for name in inputs if name.startswith("cot.")}
    learned = [name[5:] for name in want if name.startswith("grad.")]
    for name in learned:
        tensors[name].requires_grad_()
    result = ops[op](**tensors, **params)
    found: dict[str, Tensor] = result if isinstance(result, dict) else {"y": result}
    if learned:
        leaves = [tensors[name] for name in learned]
        given = [found[name] for name in cotangents]
        gradients = torch.autograd.grad(given, leaves, list(cotangents.values()), materialize_grads=True)
        found |= {f"grad.{name}": gradient for name, gradient in zip(learned, gradients, strict=True)}
    if unknown := [name for name in want if name not in found]:
        raise Unsupported(f"{', '.join(unknown)}: {op} returns {', '.join(found)} only")
    return {name: to_numpy(found[name]) for name in want}


def to_torch(array: np.ndarray) -> Tensor:
    """Copy an array; torch.tensor does not know ml_dtypes, so bfloat16 goes through its bits."""
    if array.dtype == ml_dtypes.bfloat16:
        return torch.tensor(array.view(np.uint16)).view(torch.bfloat16)
    return torch.tensor(array)


def to_numpy(tensor: Tensor) -> np.ndarray:
    if tensor.dtype == torch.bfloat16:
        return tensor.detach().view(torch.uint16).numpy().view(ml_dtypes.bfloat16)
    return tensor.detach().numpy()


def both(mask: Tensor | None, q_offset: int | None, T: int, S: int) -> Tensor | None:
    """Return the boolean mask that keeps what mask and causality both keep."""
    if q_offset is None:
        return mask
    causal = torch.arange(S) <= torch.arange(T).unsqueeze(1) + q_offset
    return causal if mask is None else mask & causal
