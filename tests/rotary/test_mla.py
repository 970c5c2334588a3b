import numpy as np
import pytest

from refimpl import MlaRope, attention_forward, mla_rope_backward, mla_rope_forward, rope_cos_sin, rope_forward

RNG = np.random.default_rng(19)


def parts(B=2, H=3, T=5, D=7, R=4):
    shapes = ((B, H, T, D), (B, H, T, R), (B, H, T, D), (B, T, R))
    return [RNG.standard_normal(shape) for shape in shapes]


def test_content_then_position_and_one_key_for_all_heads():
    q_nope, q_pe, k_nope, k_pe = parts()
    cos, sin = rope_cos_sin(np.arange(5), 4)
    (q, k), _ = mla_rope_forward(q_nope, q_pe, k_nope, k_pe, cos, sin)
    np.testing.assert_array_equal(q[..., :7], q_nope)
    np.testing.assert_array_equal(k[..., :7], k_nope)
    np.testing.assert_array_equal(q[..., 7:], rope_forward(q_pe, cos, sin)[0])
    for h in range(3):
        np.testing.assert_array_equal(k[:, h, :, 7:], rope_forward(k_pe, cos, sin)[0])


def test_shared_key_collects_from_all_heads():
    """As if every head had a copy of k_pe, whose gradients add up."""
    given, (cos, sin) = parts(), RNG.standard_normal((2, 5, 2))
    dy = MlaRope(*RNG.standard_normal((2, 2, 3, 5, 11)))
    dq_nope, dq_pe, dk_nope, dk_pe, dcos, dsin = mla_rope_backward(dy, mla_rope_forward(*given, cos, sin)[1])
    per_head = []
    for h in range(3):
        one = [array[:, h : h + 1] if array.ndim == 4 else array for array in given]
        cotangent = MlaRope(dy.q[:, h : h + 1], dy.k[:, h : h + 1])
        per_head.append(mla_rope_backward(cotangent, mla_rope_forward(*one, cos, sin)[1]))
    np.testing.assert_allclose(dk_pe, sum(gradients[3] for gradients in per_head), rtol=1e-12)
    np.testing.assert_allclose(dcos, sum(gradients[4] for gradients in per_head), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(dsin, sum(gradients[5] for gradients in per_head), rtol=1e-11, atol=1e-13)
    np.testing.assert_array_equal(dq_pe[:, 1], per_head[1][1][:, 0])
    np.testing.assert_array_equal(dq_nope, dy.q[..., :7])
    np.testing.assert_array_equal(dk_nope, dy.k[..., :7])


def test_absent_cotangents_are_zero():
    _, residuals = mla_rope_forward(*parts(), *RNG.standard_normal((2, 5, 2)))
    dk = RNG.standard_normal((2, 3, 5, 11))
    got = mla_rope_backward(MlaRope(None, dk), residuals)
    want = mla_rope_backward(MlaRope(0 * dk, dk), residuals)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)


def test_output_layout_leaves_attention_as_it_is():
    """transformers' DeepSeek-V3 writes halves where DeepSeek's code writes pairs: scores agree, cached keys do not."""
    given, v = parts(), RNG.standard_normal((2, 3, 5, 3))
    cos, sin = rope_cos_sin(np.arange(5), 4)
    pairs, _ = mla_rope_forward(*given, cos, sin)
    halves, _ = mla_rope_forward(*given, cos, sin, interleaved_output=False)
    y = [attention_forward(*turned, v, q_offset=0)[0].y for turned in (pairs, halves)]
    np.testing.assert_allclose(y[0], y[1], rtol=1e-12)
    assert not np.allclose(pairs.k, halves.k)


@pytest.mark.parametrize(
    ("name", "wrong", "allowed"),
    [
        ("q_pe", (2, 2, 5, 4), r"shape \(2, 3, 5, R\) to fit q_nope"),
        ("k_nope", (2, 3, 5, 6), r"shape \(2, 3, 5, 7\) to fit q_nope"),
        ("k_pe", (2, 3, 5, 4), r"shape \(2, 5, 4\) to fit q_nope, q_pe"),
    ],
)
def test_bad_input(name, wrong, allowed):
    given = dict(zip(("q_nope", "q_pe", "k_nope", "k_pe"), parts(), strict=True)) | {name: np.ones(wrong)}
    cos, sin = RNG.standard_normal((2, 5, 2))
    with pytest.raises(ValueError, match=f"{name}: got shape .*; allowed: {allowed}"):
        mla_rope_forward(**given, cos=cos, sin=sin)
