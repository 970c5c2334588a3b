"""Biases of door 3 against x-transformers: its own modules, and autograd through them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import refimpl as r
from conformance.test_transformers_bias import agree, arrays, reals

torch = pytest.importorskip("torch")
xt = pytest.importorskip("x_transformers.x_transformers")


@pytest.mark.parametrize("causal", [True, False])
def test_t5_bias(causal: bool) -> None:
    """Queries are the last of the keys; the bias is multiplied by their scale, √D."""
    module = xt.RelativePositionBias(scale=2.0, causal=causal, heads=3).double()
    weight = module.relative_attention_bias.weight
    y, residuals = r.t5_bias_forward(2 * arrays(weight)[0], T=5, S=140, q_offset=135, bidirectional=not causal)
    agree(y, lambda dy, residuals: 2 * r.t5_bias_backward(dy, residuals), residuals, module(5, 140), [weight])


def test_cope() -> None:
    """Their gates see the scaled logits with the mask already in them; the bias is added to these, not divided."""
    B, H, T, D, N = 2, 3, 7, 4, 4
    module = xt.CoPE(D, H, N).double()
    table = module.pos_emb
    torch.nn.init.normal_(table)
    q, k = reals(B, H, T, D), reals(B, H, T, D)
    ahead = torch.ones(T, T, dtype=torch.bool).triu(1)
    logits = (q @ k.mT / 2).masked_fill(ahead, -torch.finfo(torch.float64).max)
    y, residuals = r.cope_forward(*arrays(q, k, table))
    agree(y, r.cope_backward, residuals, module(q, logits), [q, k, table])


def test_fox() -> None:
    """The same below the diagonal; above it they leave c[i] − c[j] for the causal mask to remove."""
    module = xt.DataDependentAlibi(5, 3).double()
    x = reals(2, 7, 5)
    logits = module.to_forget_gates[:2](x)  # before the logarithm of the sigmoid, (B, H, T)
    behind = torch.ones(7, 7, dtype=torch.float64).tril()
    y, residuals = r.fox_forward(*arrays(logits), T=7)

    def gradient_of_x(dy: Any, residuals: Any) -> Any:
        dlogits = r.fox_backward(dy, residuals)
        return np.moveaxis(dlogits, 1, -1) @ arrays(module.to_forget_gates[0].weight)[0]

    agree(y, gradient_of_x, residuals, module(x) * behind, [x])
