"""Biases of door 3 against Hugging Face transformers: its own functions and modules, and autograd through them."""

from __future__ import annotations

from types import SimpleNamespace
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


@pytest.mark.parametrize("decoder", [True, False])
def test_t5_bias(decoder: bool) -> None:
    from transformers.models.t5 import T5Config
    from transformers.models.t5.modeling_t5 import T5Attention

    config = T5Config(num_heads=3, d_kv=4, d_model=12, is_decoder=decoder)
    module = T5Attention(config, has_relative_attention_bias=True, layer_idx=0).double()
    weight = module.relative_attention_bias.weight
    theirs = module.compute_bias(150, 150)[0]
    y, residuals = r.t5_bias_forward(*arrays(weight), T=150, S=150, bidirectional=not decoder)
    agree(y, r.t5_bias_backward, residuals, theirs, [weight])


def test_swin_bias() -> None:
    from transformers.models.swin.modeling_swin import SwinRelativePositionBias

    module = SwinRelativePositionBias(3, (3, 5)).double()
    table = module.relative_position_bias_table
    torch.nn.init.normal_(table)
    y, residuals = r.swin_bias_forward(*arrays(table), height=3, width=5)
    agree(y, r.swin_bias_backward, residuals, module()[0], [table])


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


def test_decomposed_2d_bias() -> None:
    from transformers.models.sam.modeling_sam import SamVisionAttention

    q, table_h, table_w = reals(2, 3, 15, 4), reals(5, 4), reals(9, 4)
    module = SamVisionAttention.__new__(SamVisionAttention)
    theirs = SamVisionAttention.get_decomposed_rel_pos(module, q.reshape(6, 15, 4), table_h, table_w, (3, 5), (3, 5))
    y, residuals = r.decomposed_2d_bias_forward(*arrays(q, table_h, table_w), height=3, width=5)
    agree(y, r.decomposed_2d_bias_backward, residuals, theirs.reshape(2, 3, 15, 15), [q, table_h, table_w])


@pytest.mark.parametrize(("left", "right"), [(5, 2), (2, 2)])
def test_shaw_keys(left: int, right: int) -> None:
    """wav2vec2-BERT: query i at position i, its own number of rows behind and ahead."""
    from transformers.models.wav2vec2_bert.modeling_wav2vec2_bert import _apply_relative_key_position_encoding

    q, k, table = reals(2, 3, 7, 4), reals(2, 3, 11, 4), reals(left + right + 1, 4)
    module = SimpleNamespace(
        left_max_position_embeddings=left,
        right_max_position_embeddings=right,
        distance_embedding=lambda rows: table[rows],
        scaling=4**-0.5,
    )
    _, theirs = _apply_relative_key_position_encoding(module, q, k)
    y, residuals = r.shaw_keys_forward(*arrays(q, table), S=11, left=left)
    agree(y, r.shaw_keys_backward, residuals, theirs, [q, table])


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


@pytest.mark.parametrize(("buckets", "max_position"), [(-1, 6), (8, 20)])
def test_deberta_bias(buckets: int, max_position: int) -> None:
    """Their gathers, by i − j in both terms: mirrored=False."""
    from transformers.models.deberta_v2 import DebertaV2Config
    from transformers.models.deberta_v2.modeling_deberta_v2 import DisentangledSelfAttention

    H, D, T = 2, 4, 23
    span = buckets if buckets > 0 else max_position
    options: dict[str, Any] = {"position_buckets": buckets, "max_relative_positions": max_position}
    options |= {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "hidden_dropout_prob": 0.0}
    config = DebertaV2Config(hidden_size=H * D, num_attention_heads=H, **options)
    module = DisentangledSelfAttention(config).double().eval()
    q, k, rows = reals(H, T, D), reals(H, T, D), reals(2 * span, H * D)
    theirs = module.disentangled_attention_bias(q, k, None, rows, 3)
    key_table, query_table = (
        projection(rows).reshape(2 * span, H, D).permute(1, 0, 2)
        for projection in (module.pos_key_proj, module.pos_query_proj)
    )
    distance = max_position if buckets > 0 else None
    y, residuals = r.deberta_bias_forward(*arrays(q, k, key_table, query_table), max_distance=distance)
    np.testing.assert_allclose(y, theirs.detach().numpy(), rtol=1e-6, atol=1e-7)  # their scale is a float32
    dy = RNG.standard_normal(y.shape)
    dq, dk, dkey_table, _ = r.deberta_bias_backward(dy, residuals)
    inputs = [q, k, module.pos_key_proj.weight]
    wanted = torch.autograd.grad(theirs, inputs, torch.tensor(dy))
    dweight = dkey_table.transpose(0, 2, 1).reshape(H * D, 2 * span) @ rows.detach().numpy()
    for got, want in zip((dq, dk, dweight), wanted, strict=True):
        np.testing.assert_allclose(got, want.numpy(), rtol=1e-5, atol=1e-6)
