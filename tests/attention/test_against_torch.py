"""The openings of attention against PyTorch's own: scaled_dot_product_attention, flex_attention, and autograd.

Conventions: PyTorch's (B, H, T, D) and its True-keeps masks are ours; its sinks do not exist, so they are a column that
is appended to the scores and dropped after the softmax; its causal masks are given as masks.
"""

import numpy as np
import pytest

from refimpl import (
    Attention,
    attention_backward,
    attention_decode_forward,
    attention_forward,
    blocked_attention_backward,
    blocked_attention_forward,
    chunked_mask,
    document_mask,
    l2_qk_norm_backward,
    l2_qk_norm_forward,
    mla_attention_backward,
    mla_attention_forward,
    padding_mask,
    prefix_mask,
    rms_qk_norm_backward,
    rms_qk_norm_forward,
    window_mask,
)

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
flex = pytest.importorskip("torch.nn.attention.flex_attention", reason="PyTorch has no flex_attention")
corners = pytest.importorskip("torch.nn.attention.bias", reason="PyTorch has no causal_lower_right")

F = torch.nn.functional
RNG = np.random.default_rng(17)
B, H, G, T, S, D, E = 2, 6, 2, 5, 7, 4, 4
Q, K, V = RNG.standard_normal((B, H, T, D)), RNG.standard_normal((B, G, S, D)), RNG.standard_normal((B, G, S, E))
BIAS, SINK = RNG.standard_normal((H, T, S)), RNG.standard_normal(H)
DY, DLSE = RNG.standard_normal((B, H, T, E)), RNG.standard_normal((B, H, T))
OFFSET = S - T
UNFUSED = pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
MASKS = {
    "window": window_mask(T, S, left=2, right=0, q_offset=OFFSET, xp=np),
    "chunked": chunked_mask(T, S, chunk=3, q_offset=OFFSET, xp=np),
    "prefix": prefix_mask(T, S, prefix=3, q_offset=OFFSET, xp=np),
    "padding": padding_mask(np.array([4, 6]), S=S),
    "document": document_mask(np.array([[0, 0, 1, 1, 2]] * B), np.array([[0, 0, 0, 1, 1, 1, 2]] * B)),
}


def leaves(*arrays):
    return [torch.tensor(array, requires_grad=True) for array in arrays]


def close(got, want, rtol=1e-10):
    want = want.detach().numpy() if hasattr(want, "detach") else want
    np.testing.assert_allclose(got, want, rtol=rtol, atol=1e-12)


def by_formula(q, k, v, bias=None, sink=None, mask=None, keep=None, p=0.0, softcap=None):
    """softmax with a dropped column, as gpt-oss has it; softcap as Gemma 2 has it."""
    k, v = k.repeat_interleave(H // G, 1), v.repeat_interleave(H // G, 1)
    s = q @ k.mT / D**0.5
    s = s if softcap is None else softcap * torch.tanh(s / softcap)
    s = s if bias is None else s + bias
    s = s if mask is None else s.masked_fill(~torch.tensor(mask), -torch.inf)
    if sink is not None:
        s = torch.cat([s, sink[:, None, None].expand(B, H, T, 1)], -1)
    lse, weights = torch.logsumexp(s, -1), torch.softmax(s, -1)[..., :S]
    weights = weights if keep is None else torch.tensor(keep) * weights / (1 - p)
    return weights @ v, lse


@pytest.mark.parametrize("name", MASKS)
def test_masks_in_sdpa(name):
    q, k, v = leaves(Q, K, V)
    y = F.scaled_dot_product_attention(q, k, v, attn_mask=torch.tensor(MASKS[name]), enable_gqa=True)
    out, residuals = attention_forward(Q, K, V, mask=MASKS[name])
    close(out.y, y)
    y.backward(torch.tensor(DY))
    for got, leaf in zip(attention_backward(Attention(DY, None), residuals), (q, k, v), strict=False):
        close(got, leaf.grad)


OPENINGS = {
    "bias": {"bias": BIAS},
    "sink": {"sink": SINK},
    "softcap": {"softcap": 0.7, "bias": BIAS, "mask": MASKS["window"]},
    "dropout": {"keep": RNG.random((B, H, T, S)) > 0.3, "p": 0.3},
    "all": {
        "bias": BIAS,
        "sink": SINK,
        "softcap": 0.7,
        "mask": MASKS["window"],
        "keep": RNG.random((B, H, T, S)) > 0.3,
        "p": 0.3,
    },
}


@pytest.mark.parametrize("name", OPENINGS)
def test_autograd_of_the_formula(name):
    options = dict(OPENINGS[name])
    bias, sink = options.pop("bias", None), options.pop("sink", None)
    given = [array for array in (Q, K, V, bias, sink) if array is not None]
    tensors = leaves(*given)
    named = dict(
        zip([n for n, a in zip("qkvbs", (Q, K, V, bias, sink), strict=True) if a is not None], tensors, strict=True)
    )
    y, lse = by_formula(*tensors[:3], bias=named.get("b"), sink=named.get("s"), **options)
    out, residuals = attention_forward(Q, K, V, bias, sink, **options)
    close(out.y, y)
    close(out.lse, lse)
    ((y * torch.tensor(DY)).sum() + (lse * torch.tensor(DLSE)).sum()).backward()
    found = [gradient for gradient in attention_backward(Attention(DY, DLSE), residuals) if gradient is not None]
    for got, leaf in zip(found, tensors, strict=True):
        close(got, leaf.grad)


@UNFUSED
@pytest.mark.parametrize("softcap", [None, 0.7])
def test_flex_attention_with_lse(softcap):
    """A score_mod for softcap and bias, a mask_mod for the window; its lse is natural, of all that joins the logits."""
    bias = torch.tensor(BIAS)

    def score(s, b, h, i, j):
        s = s if softcap is None else softcap * torch.tanh(s / softcap)
        return s + bias[h, i, j]

    block = flex.create_block_mask(
        lambda b, h, i, j: (j <= i + OFFSET) & (j >= i + OFFSET - 2), B, H, T, S, device="cpu"
    )
    tensors = [torch.tensor(a) for a in (Q, K, V)]
    y, aux = flex.flex_attention(
        *tensors, score_mod=score, block_mask=block, enable_gqa=True, return_aux=flex.AuxRequest(lse=True)
    )
    out, _ = attention_forward(Q, K, V, BIAS, mask=MASKS["window"], softcap=softcap)
    close(out.y, y)
    close(out.lse, aux.lse, rtol=1e-6)


@UNFUSED
def test_flex_attention_of_a_row_without_keys():
    """y 0 and lse -inf, as here; scaled_dot_product_attention agrees on y and has no lse."""
    mask = np.ones((T, S), bool)
    mask[1] = False
    block = flex.create_block_mask(lambda b, h, i, j: i != 1, B, H, T, S, device="cpu")
    tensors = [torch.tensor(a) for a in (Q, K, V)]
    y, aux = flex.flex_attention(*tensors, block_mask=block, enable_gqa=True, return_aux=flex.AuxRequest(lse=True))
    out, _ = attention_forward(Q, K, V, mask=mask)
    close(out.y, y)
    close(out.lse, aux.lse, rtol=1e-6)
    close(out.y, F.scaled_dot_product_attention(*tensors, attn_mask=torch.tensor(mask), enable_gqa=True))


def test_blocks_against_autograd():
    q, k, v, bias = leaves(Q, K, V, BIAS)
    y, lse = by_formula(q, k, v, bias=bias, mask=MASKS["window"])
    out, residuals = blocked_attention_forward(Q, K, V, BIAS, block=3, mask=MASKS["window"])
    close(out.y, y)
    close(out.lse, lse)
    ((y * torch.tensor(DY)).sum() + (lse * torch.tensor(DLSE)).sum()).backward()
    for got, leaf in zip(blocked_attention_backward(Attention(DY, DLSE), residuals), (q, k, v, bias), strict=True):
        close(got, leaf.grad)


def test_decode_against_the_lower_right_bias():
    """torch's causal_lower_right lines up the last query with the last key, as a cache does."""
    k, v = RNG.standard_normal((2, B, H, T + 2, D))
    lower_right = corners.causal_lower_right(T, T + 2)
    want = F.scaled_dot_product_attention(*(torch.tensor(a) for a in (Q, k, v)), attn_mask=lower_right)
    out, _ = attention_decode_forward(Q, k[:, :, 2:], v[:, :, 2:], k[:, :, :2], v[:, :, :2])
    close(out.y, want)


def test_rms_norm_of_torch():
    """eps inside the root, the weight times the normed vector; OLMo 2's is over all heads at once."""
    x, weight = leaves(RNG.standard_normal((B, H, T, D)), RNG.standard_normal(D))
    y = F.rms_norm(x, (D,), weight, eps=0.25)
    y.backward(torch.tensor(DY))
    got, residuals = rms_qk_norm_forward(x.detach().numpy(), weight.detach().numpy(), eps=0.25)
    close(got, y)
    for a, leaf in zip(rms_qk_norm_backward(DY, residuals), (x, weight), strict=True):
        close(a, leaf.grad)


def test_rms_norm_of_torch_over_heads():
    x, weight = leaves(RNG.standard_normal((B, H, T, D)), RNG.standard_normal((H, D)))
    y = F.rms_norm(x.transpose(1, 2).flatten(2), (H * D,), weight.flatten(), eps=1e-6)
    y = y.unflatten(-1, (H, D)).transpose(1, 2)
    y.backward(torch.tensor(DY))
    got, residuals = rms_qk_norm_forward(x.detach().numpy(), weight.detach().numpy(), over_heads=True)
    close(got, y)
    for a, leaf in zip(rms_qk_norm_backward(DY, residuals), (x, weight), strict=True):
        close(a, leaf.grad)


def test_swin_v2():
    """normalize divides by max(|x|, 1e-12); clamp(max=ln 100) passes the gradient at the bound itself."""
    most = 4.605170185988092
    x, scale = leaves(RNG.standard_normal((B, H, T, D)), np.array([2.0, most, 4.7, -1.0, 0.5, 9.0]))
    y = F.normalize(x, dim=-1) * torch.clamp(scale, max=most).exp()[:, None, None]
    y.backward(torch.tensor(DY))
    got, residuals = l2_qk_norm_forward(x.detach().numpy(), scale.detach().numpy(), max_logit_scale=most)
    close(got, y)
    for a, leaf in zip(l2_qk_norm_backward(DY, residuals), (x, scale), strict=True):
        close(a, leaf.grad)


def test_latent_attention_against_autograd():
    """DeepSeek's order: [nope | rope], interleaved pairs; a complex product turns them."""
    N, R, L = 3, 4, 5
    shapes = {"q": (B, H, T, N + R), "latent": (B, S, L), "k_rope": (B, S, R), "norm_weight": (L,)}
    shapes |= {"w_uk": (L, H * N), "w_uv": (L, H * E), "cos": (S, R // 2), "sin": (S, R // 2)}
    inputs = {name: RNG.standard_normal(shape) for name, shape in shapes.items()}
    t = dict(zip(inputs, leaves(*inputs.values()), strict=True))

    def turn(x, cos, sin):
        pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
        return torch.view_as_real(pairs * torch.complex(cos, sin)).flatten(-2)

    c = F.rms_norm(t["latent"], (L,), t["norm_weight"], eps=1e-6)
    k_nope = (c @ t["w_uk"]).unflatten(-1, (H, N)).transpose(1, 2)
    v = (c @ t["w_uv"]).unflatten(-1, (H, E)).transpose(1, 2)
    k_turned = turn(t["k_rope"], t["cos"], t["sin"])[:, None].expand(B, H, S, R)
    k = torch.cat([k_nope, k_turned], -1)
    q = torch.cat([t["q"][..., :N], turn(t["q"][..., N:], t["cos"][OFFSET:], t["sin"][OFFSET:])], -1)
    s = (q @ k.mT / (N + R) ** 0.5).masked_fill(~torch.ones(T, S, dtype=bool).tril(OFFSET), -torch.inf)
    y, lse = torch.softmax(s, -1) @ v, torch.logsumexp(s, -1)
    out, residuals = mla_attention_forward(**inputs, q_offset=OFFSET)
    close(out.y, y)
    close(out.lse, lse)
    ((y * torch.tensor(DY)).sum() + (lse * torch.tensor(DLSE)).sum()).backward()
    for name, got in mla_attention_backward(Attention(DY, DLSE), residuals)._asdict().items():
        close(got, t[name].grad)
