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
    chunked_mask,
    document_mask,
    l2_qk_norm_forward,
    rms_qk_norm_forward,
    window_mask,
)
from refimpl.attention.conversions import window_of_keys, window_of_radius

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
masking = pytest.importorskip("transformers.masking_utils", reason="transformers is not installed")

RNG = np.random.default_rng(43)
B, H, G, T, S, D = 2, 6, 2, 5, 7, 4
OFFSET = S - T
Q, K, V = RNG.standard_normal((B, H, T, D)), RNG.standard_normal((B, G, S, D)), RNG.standard_normal((B, G, S, D))
DY = RNG.standard_normal((B, H, T, D))


def model(name: str) -> Any:
    return pytest.importorskip(f"transformers.models.{name}.modeling_{name}")


def of_indices(function: Any, T: int = T, S: int = S, q_offset: int = OFFSET) -> np.ndarray:
    """Return what a mask function says of every pair of a query and a key, in the second sequence of the batch."""
    q, k = torch.arange(T)[:, None] + q_offset, torch.arange(S)[None, :]
    return np.broadcast_to(function(1, 0, q, k).numpy(), (T, S))


@pytest.mark.parametrize("W", [1, 2, 3, 10])
def test_a_sliding_window_is_w_keys(W: int) -> None:
    left, right = window_of_keys(W)
    want = of_indices(masking.sliding_window_causal_mask_function(W))
    np.testing.assert_array_equal(window_mask(T, S, left=left, right=right, q_offset=OFFSET, xp=np), want)


@pytest.mark.parametrize("W", [1, 2, 3])
def test_a_bidirectional_window_is_w_on_either_side(W: int) -> None:
    left, right = window_of_radius(W)
    want = of_indices(masking.sliding_window_bidirectional_mask_function(W))
    np.testing.assert_array_equal(window_mask(T, S, left=left, right=right, q_offset=OFFSET, xp=np), want)


@pytest.mark.parametrize(("chunk", "padding"), [(3, 0), (3, 2), (4, 1), (1, 0)])
def test_chunks_of_llama_4(chunk: int, padding: int) -> None:
    want = of_indices(masking.chunked_causal_mask_function(chunk, torch.tensor([0, padding])))
    mine = chunked_mask(T, S, chunk=chunk, q_offset=OFFSET, left_padding=padding, xp=np)
    np.testing.assert_array_equal(mine, want)


def test_packed_documents() -> None:
    documents = np.array([[0, 0, 1, 1, 1], [3, 3, 3, 4, 5]])
    want = of_indices(masking.packed_sequence_mask_function(torch.tensor(documents)), 5, 5, 0)
    np.testing.assert_array_equal(document_mask(documents)[1, 0], want)


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


def of_norm(norm: Any, x: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    if weight is not None:
        norm.weight.data = torch.tensor(weight)
    return np.asarray(norm(torch.tensor(x)).detach().numpy())


def test_norms_a_head() -> None:
    """Qwen 3: the gain is the weight; Gemma 3: 1 + weight; Llama 4: none. All of them in float32."""
    weight = RNG.standard_normal(D)
    theirs = of_norm(model("qwen3").Qwen3RMSNorm(D, eps=1e-3), Q, weight)
    np.testing.assert_allclose(rms_qk_norm_forward(Q, weight, eps=1e-3)[0], theirs, rtol=1e-5, atol=1e-6)
    theirs = of_norm(model("gemma3").Gemma3RMSNorm(D, eps=1e-3), Q, weight)
    mine, _ = rms_qk_norm_forward(Q, weight, eps=1e-3, unit_offset=True)
    np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)
    theirs = of_norm(model("llama4").Llama4TextL2Norm(eps=1e-3), Q)
    np.testing.assert_allclose(rms_qk_norm_forward(Q, eps=1e-3)[0], theirs, rtol=1e-5, atol=1e-6)


def test_norm_over_heads_of_olmo_2() -> None:
    """Normed as one vector (H·D), then cut into heads."""
    weight = RNG.standard_normal((H, D))
    rows = np.swapaxes(Q, 1, 2).reshape(B, T, H * D)
    theirs = of_norm(model("olmo2").Olmo2RMSNorm(H * D, eps=1e-3), rows, weight.reshape(-1))
    mine, _ = rms_qk_norm_forward(Q, weight, eps=1e-3, over_heads=True)
    np.testing.assert_allclose(np.swapaxes(mine, 1, 2).reshape(B, T, H * D), theirs, rtol=1e-5, atol=1e-6)


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
