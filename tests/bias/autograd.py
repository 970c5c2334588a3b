"""The second route to every gradient: the formula as PyTorch code, and its own autograd."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from refimpl.ops import OPS

RNG = np.random.default_rng(17)


def reals(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape)


def agrees_with_autograd(op: str, formula: Callable[..., Any], arrays: dict[str, np.ndarray], **options: Any) -> None:
    """Compare an op with a formula in PyTorch that takes the same arrays and options."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    tensors = {name: torch.tensor(array, requires_grad=True) for name, array in arrays.items()}
    theirs = formula(torch, **tensors, **options)
    ours, residuals = OPS[op].forward(**arrays, **options)
    np.testing.assert_allclose(ours, theirs.detach().numpy(), rtol=1e-11, atol=1e-11)
    dy = reals(*ours.shape)
    wanted = torch.autograd.grad(theirs, list(tensors.values()), torch.tensor(dy))
    found = OPS[op].backward(dy, residuals)
    assert OPS[op].gradients == tuple(arrays)
    for name, got, want in zip(tensors, found if len(wanted) > 1 else (found,), wanted, strict=True):
        np.testing.assert_allclose(got, want.numpy(), rtol=1e-9, atol=1e-10, err_msg=name)


def distances(torch: Any, T: int, S: int, q_offset: int) -> Any:
    """Return q_offset + i - j."""
    return (q_offset + torch.arange(T))[:, None] - torch.arange(S)[None, :]
