"""Masks, sinks, softcap and norms of q and k against Hugging Face transformers: its own functions and modules.

Conventions: heads before length as here, the result with heads after length; masks are additive there, or functions of
indices; a window of W is W keys when causal, W on either side when not. Norms are computed in float32 there.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from refimpl import (
    Attention,
    attention_backward,
    attention_forward,
    causal_mask,
    l2_qk_norm_forward,
    window_mask,
)

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

RNG = np.random.default_rng(43)
B, H, G, T, S, D = 2, 6, 2, 5, 7, 4
OFFSET = S - T
Q, K, V = RNG.standard_normal((B, H, T, D)), RNG.standard_normal((B, G, S, D)), RNG.standard_normal((B, G, S, D))
DY = RNG.standard_normal((B, H, T, D))


def model(name: str) -> Any:
    return pytest.importorskip(f"transformers.models.{name}.modeling_{name}")


def additive(mask: np.ndarray) -> Any:
    return torch.zeros(mask.shape, dtype=torch.float64).masked_fill(~torch.tensor(mask), -torch.inf)


def agrees(theirs: Any, leaves: list[Any], found: tuple[Attention, Any], rtol: float) -> None:
    """Compare the result, and the gradients of q, k, v and whatever else the leaves are."""
    out, residuals = found
    assert out.y is not None
    np.testing.assert_allclose(out.y, theirs.transpose(1, 2).detach().numpy(), rtol=rtol, atol=rtol)
    theirs.transpose(1, 2).backward(torch.tensor(DY))
    gradients = [d for d in attention_backward(Attention(DY, None), residuals) if d is not None]
    for got, leaf in zip(gradients, leaves, strict=True):
        np.testing.assert_allclose(got, leaf.grad.numpy(), rtol=10 * rtol, atol=10 * rtol)


def test_sinks_of_gpt_oss() -> None:
    mask, sink = causal_mask(T, S, q_offset=OFFSET, xp=np), RNG.standard_normal(H)
    leaves = [torch.tensor(array, requires_grad=True) for array in (Q, K, V, sink)]
    module = SimpleNamespace(num_key_value_groups=H // G, sinks=leaves[3], training=False)
    y, _ = model("gpt_oss").eager_attention_forward(module, *leaves[:3], additive(mask), scaling=0.3)
    agrees(y, leaves, attention_forward(Q, K, V, None, sink, q_offset=OFFSET, scale=0.3), 1e-10)


def test_softcap_of_gemma_2() -> None:
    """Capped before the mask; its softmax is float32."""
    mask = window_mask(T, S, left=2, right=0, q_offset=OFFSET, xp=np)
    leaves = [torch.tensor(array, requires_grad=True) for array in (Q, K, V)]
    module = SimpleNamespace(num_key_value_groups=H // G, head_dim=D, training=False)
    y, _ = model("gemma2").eager_attention_forward(module, *leaves, additive(mask), softcap=0.7)
    agrees(y, leaves, attention_forward(Q, K, V, mask=mask, softcap=0.7), 1e-6)


def test_cosine_attention_of_swin_v2() -> None:
    """Its own module, with identity projections and a constant bias: cosines times exp(logit_scale) are left."""
    swin = model("swinv2")
    q = RNG.standard_normal((B, 2, 4, 3))
    module = swin.Swinv2SelfAttention(
        config=SimpleNamespace(qkv_bias=False, attention_probs_dropout_prob=0.0), dim=6, num_heads=2, window_size=(2, 2)
    ).double()
    scale = np.array([3.0, 5.5])
    module.logit_scale.data = torch.tensor(scale)[:, None, None]
    for projection in (module.query, module.key, module.value):
        projection.weight.data = torch.eye(6, dtype=torch.float64)
        if projection.bias is not None:
            projection.bias.data.zero_()
    for layer in module.continuous_position_bias_mlp:
        if hasattr(layer, "weight"):
            layer.weight.data.zero_()  # 16 sigmoid(0) = 8 for every pair: softmax does not see it
    theirs = module(torch.tensor(np.swapaxes(q, 1, 2).reshape(B, 4, 6)))[0]
    normed_q, _ = l2_qk_norm_forward(q, scale, max_logit_scale=4.605170185988092)
    out, _ = attention_forward(normed_q, l2_qk_norm_forward(q)[0], q, scale=1.0)
    assert out.y is not None
    np.testing.assert_allclose(np.swapaxes(out.y, 1, 2).reshape(B, 4, 6), theirs.detach().numpy(), rtol=1e-9)
