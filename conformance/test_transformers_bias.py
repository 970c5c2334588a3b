"""Biases of door 3 against Hugging Face transformers: its own functions and modules, and autograd through them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import refimpl as r

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

RNG = np.random.default_rng(41)


def reals(*shape: int) -> Any:
    return torch.tensor(RNG.standard_normal(shape), dtype=torch.float64, requires_grad=True)


def arrays(*tensors: Any) -> list[np.ndarray]:
    return [tensor.detach().numpy() for tensor in tensors]


def agree(y: np.ndarray, gradients: Any, residuals: Any, theirs: Any, inputs: Any, rtol: float = 1e-10) -> None:
    """Compare the result, and the gradients for one cotangent."""
    np.testing.assert_allclose(y, theirs.detach().numpy(), rtol=rtol, atol=rtol)
    dy = RNG.standard_normal(y.shape)
    ours = gradients(dy, residuals)
    wanted = torch.autograd.grad(theirs, inputs, torch.tensor(dy), allow_unused=True)
    for got, want in zip(ours if isinstance(ours, tuple) else (ours,), wanted, strict=True):
        np.testing.assert_allclose(got, want.numpy(), rtol=rtol, atol=rtol)


@pytest.mark.parametrize(("N", "max_distance"), [(32, 128), (32, 256), (64, 512), (20, 50), (6, 1000)])
@pytest.mark.parametrize("bidirectional", [True, False])
def test_t5_buckets(N: int, max_distance: int, bidirectional: bool) -> None:
    """Their float32 logarithm, on the CPU, agrees with the integers at every distance up to 2000."""
    from transformers.models.t5.modeling_t5 import T5Attention

    relative = np.arange(-2000, 2001)
    theirs = T5Attention._relative_position_bucket(torch.tensor(relative), bidirectional, N, max_distance)
    ours = r.t5_buckets(relative, N=N, max_distance=max_distance, bidirectional=bidirectional)
    np.testing.assert_array_equal(ours, theirs.numpy())


@pytest.mark.parametrize("pretrained", [None, (12, 8)])
def test_swin_v2_bias(pretrained: tuple[int, int] | None) -> None:
    """Their offsets are float32: 1e-6. The bias is read off a module whose queries and keys have no direction."""
    from transformers.models.swinv2 import Swinv2Config
    from transformers.models.swinv2.modeling_swinv2 import Swinv2SelfAttention

    module = Swinv2SelfAttention(Swinv2Config(), 6, 3, (3, 5), list(pretrained or (0, 0))).double()
    hidden, out = module.continuous_position_bias_mlp[0], module.continuous_position_bias_mlp[2]
    network = [hidden.weight, hidden.bias, out.weight]
    table = 16 * torch.sigmoid(module.continuous_position_bias_mlp(module.relative_coords_table.double()).view(-1, 3))
    theirs = table[module.relative_position_index.view(-1)].view(15, 15, 3).permute(2, 0, 1)
    w1, b1, w2 = arrays(*network)
    trained = dict(zip(("pretrained_height", "pretrained_width"), pretrained or (), strict=False))
    y, residuals = r.swin_v2_bias_forward(w1.T, b1, w2.T, height=3, width=5, **trained)

    def gradients(dy: Any, residuals: Any) -> Any:
        dw1, db1, dw2 = r.swin_v2_bias_backward(dy, residuals)
        return dw1.T, db1, dw2.T

    agree(y, gradients, residuals, theirs, network, rtol=1e-4)
    np.testing.assert_allclose(y, theirs.detach().numpy(), rtol=1e-5)


def test_transformer_xl_bias() -> None:
    """XLNet's core: its r begins at the distance T + q_offset, one row before ours; scores as softmax sees them."""
    from transformers.models.xlnet import XLNetConfig
    from transformers.models.xlnet.modeling_xlnet import XLNetRelativeAttention

    H, D, C, T, S = 2, 4, 8, 3, 7
    module = XLNetRelativeAttention(XLNetConfig(d_model=C, n_head=H, d_head=D, dropout=0.0)).double().eval()
    q, k, u, v = reals(T, 1, H, D), reals(S, 1, H, D), reals(H, D), reals(H, D)
    rows, w_r = reals(T + S, C), reals(C, H, D)
    module.r_w_bias, module.r_r_bias = torch.nn.Parameter(u.detach()), torch.nn.Parameter(v.detach())
    keys = torch.einsum("ih,hnd->ind", rows, w_r)[:, None]
    _, probabilities = module.rel_attn_core(q, k, k, keys, output_attentions=True)  # (i, j, b, n)
    first = arrays(q.permute(1, 2, 0, 3), k.permute(1, 2, 0, 3))
    bias, _ = r.transformer_xl_bias_forward(*first, *arrays(rows[1:], w_r.reshape(C, H * D), u, v))
    scores = first[0] @ first[1].mT / 2 + bias
    weights, _ = r.softmax_forward(scores)
    np.testing.assert_allclose(weights[0], probabilities.detach().numpy()[:, :, 0].transpose(2, 0, 1), rtol=1e-12)


@pytest.mark.parametrize(("bucket_size", "max_position"), [(256, 512), (32, 128), (12, 40)])
def test_deberta_buckets(bucket_size: int, max_position: int) -> None:
    from transformers.models.deberta_v2.modeling_deberta_v2 import make_log_bucket_position

    from refimpl.bias.deberta import deberta_buckets

    behind = np.arange(-700, 701)
    theirs = make_log_bucket_position(torch.tensor(behind), bucket_size, max_position).long()
    theirs = torch.clamp(theirs + bucket_size, 0, 2 * bucket_size - 1)
    np.testing.assert_array_equal(deberta_buckets(behind, 2 * bucket_size, max_position), theirs.numpy())
