"""Door 4's definitions against numbers worked out elsewhere and torch, and each gradient against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp

from . import DEFINITIONS
from .checks import assert_agrees, assert_gradient_is_the_derivative, close, tensors, y

RANDOM = np.random.default_rng(34)


def reals(*shape):
    return RANDOM.normal(size=shape)


QKV = {"q": reals(4, 2, 3), "k": reals(2, 3, 3), "v": reals(2, 3, 2)}
CACHE = {"k": reals(2, 2, 3), "v": reals(2, 2, 2), "k_cache": reals(2, 1, 3), "v_cache": reals(2, 1, 2)}
OPENED = {**QKV, "bias": reals(2, 3), "sink": reals(4), "keep": RANDOM.random((4, 2, 3)) < 0.6}
MHA = {"x": reals(2, 3), "w_q": reals(3, 4), "w_k": reals(3, 2), "w_v": reals(3, 3), "w_o": reals(6, 2)}
MLA = {"q": reals(2, 2, 5), "latent": reals(3, 4), "k_rope": reals(3, 2), "norm_weight": reals(4), "w_uk": reals(4, 6)}
MLA |= {"w_uv": reals(4, 4), "cos": reals(3, 1), "sin": reals(3, 1)}
CASES = {
    "attention": (OPENED, {"softcap": 1.5, "p": 0.25, "q_offset": 1}),
    "multi_head_attention": ({**MHA, "sink": reals(2)}, {"H": 2, "G": 1, "softcap": 2.0}),
    "softmax_sink": ({"x": reals(2, 3, 4), "sink": reals(2, 1), "mask": RANDOM.random((3, 4)) < 0.6}, {}),
    "softcap": ({"x": reals(2, 3)}, {"cap": 0.75}),
    "rms_qk_norm": ({"x": reals(2, 3, 4), "weight": reals(2, 4)}, {"over_heads": True, "unit_offset": True}),
    "l2_qk_norm": ({"x": reals(2, 3, 4), "logit_scale": np.array([0.5, 2.0])}, {"max_logit_scale": 1.0, "eps": 1.5}),
    "attention_decode": ({"q": QKV["q"], **CACHE, "sink": reals(4)}, {"softcap": 2.0}),
    "blocked_attention": (QKV, {"block": 2, "q_offset": 1}),
    "merge_blocks": ({"y1": reals(2, 3), "lse1": reals(2), "y2": reals(2, 3), "lse2": reals(2)}, {}),
    "mla_attention": (MLA, {"q_offset": 1, "interleaved": False}),
}


@pytest.mark.parametrize("op", CASES)
def test_gradient_is_the_derivative(op):
    assert_gradient_is_the_derivative(op, *CASES[op])


def test_sink_takes_its_share():
    """softmax([1, 2, 3]) is [0.0900, 0.2447, 0.6652]; the third is the sink's."""
    close(y("softmax_sink", {"x": np.array([1.0, 2.0]), "sink": np.array(3.0)}), [0.0900306, 0.2447285], 1e-7)


def test_sink_of_zero_is_softmax_off_by_one():
    """Miller 2023: exp(x_j) / (1 + sum exp(x_k)), which can be nearly nothing at all."""
    close(y("softmax_sink", {"x": np.zeros((2, 3)), "sink": np.zeros(2)}), np.full((2, 3), 0.25))
    close(y("softmax_sink", {"x": np.full(2, -1e3), "sink": np.zeros(())}), [0, 0])


def test_sink_is_a_gate_of_the_output():
    """gpt-oss: the output with sink s is the output without, times sigmoid(lse - s)."""
    without = DEFINITIONS["attention"](QKV, {})
    sink = reals(4)
    result = DEFINITIONS["attention"]({**QKV, "sink": sink}, {})
    gate = 1 / (1 + np.exp(sink[:, None] - without["lse"].astype(float)))
    close(result["y"], without["y"].astype(float) * gate[..., None])
    close(result["lse"], np.logaddexp(without["lse"].astype(float), sink[:, None]))


def test_empty_row():
    blind = {**QKV, "mask": np.zeros((1, 3), dtype=bool)}
    empty = DEFINITIONS["attention"](blind, {})
    assert all(value == 0 for value in empty["y"].flat)
    assert all(value == -mp.inf for value in empty["lse"].flat)
    sink = reals(4)
    sunk = DEFINITIONS["attention"]({**blind, "sink": sink}, {})
    assert all(value == 0 for value in sunk["y"].flat)
    close(sunk["lse"], np.repeat(sink[:, None], 2, axis=1), 1e-15)


def test_softcap_bounds_before_the_mask_hides():
    """A capped -inf would be -cap and still be seen; masked, its weight is 0 and the other's is 1."""
    close(y("softcap", {"x": np.array([0.0, 1e9, -1e9])}, cap=50.0), [0, 50, -50])
    two = {"q": np.ones((1, 1, 1)), "k": np.array([[[1.0], [9.0]]]), "v": np.array([[[1.0, 0.0], [0.0, 1.0]]])}
    close(y("attention", {**two, "mask": np.array([True, False])}, softcap=2.0), [[[1, 0]]])


def test_bias_joins_after_the_cap():
    two = {"q": np.zeros((1, 1, 1)), "k": np.zeros((1, 2, 1)), "v": np.array([[[1.0], [0.0]]])}
    close(y("attention", {**two, "bias": np.array([5.0, 0.0])}, softcap=1.0), [[[1 / (1 + np.exp(-5))]]])


def test_dropout_drops_weights_and_leaves_lse():
    two = {"q": np.zeros((1, 1, 1)), "k": np.zeros((1, 2, 1)), "v": np.array([[[1.0], [3.0]]])}
    got = DEFINITIONS["attention"]({**two, "keep": np.array([False, True])}, {"p": 0.5})
    close(got["y"], [[[3]]])
    close(got["lse"], [[np.log(2)]])


def drawn(op, **params):
    return ["".join(".x"[int(keep)] for keep in row) for row in y(op, {}, **params)]


def test_masks_drawn():
    assert drawn("causal_mask", T=2, S=4, q_offset=1) == ["xx..", "xxx."]
    assert drawn("causal_mask", T=3, S=2, q_offset=-1) == ["..", "x.", "xx"]
    assert drawn("window_mask", T=2, S=5, left=1, right=0, q_offset=2) == [".xx..", "..xx."]
    assert drawn("window_mask", T=1, S=4, left=0, right=0, q_offset=2) == ["..x."]
    assert drawn("window_mask", T=1, S=4, right=1, q_offset=1) == ["xxx."]
    assert drawn("prefix_mask", T=3, S=4, prefix=2, q_offset=0) == ["xx..", "xx..", "xxx."]
    assert drawn("chunked_mask", T=5, S=5, chunk=2, q_offset=0) == ["x....", "xx...", "..x..", "..xx.", "....x"]
    padded = drawn("chunked_mask", T=5, S=5, chunk=2, q_offset=0, left_padding=1)
    assert padded == ["x....", ".x...", ".xx..", "...x.", "...xx"]


def test_padding_and_documents():
    lengths = np.array([2, 0])
    assert y("padding_mask", {"lengths": lengths}, S=3).tolist() == [[[[1, 1, 0]]], [[[0, 0, 0]]]]
    assert y("padding_mask", {"lengths": lengths}, S=3, left_padded=True).tolist() == [[[[0, 1, 1]]], [[[0, 0, 0]]]]
    documents = np.array([7, 7, 3])
    assert y("document_mask", {"q_documents": documents}).tolist() == [[[1, 1, 0], [1, 1, 0], [0, 0, 1]]]


def test_rms_norm_of_a_head_by_hand():
    """[3, 4] has mean square 12.5."""
    close(y("rms_qk_norm", {"x": np.array([[[3.0, 4.0]]])}, eps=0.0), [[np.array([3, 4]) / np.sqrt(12.5)]])
    heads = np.array([[[3.0]], [[4.0]]])
    close(y("rms_qk_norm", {"x": heads}, eps=0.0, over_heads=True), heads / np.sqrt(12.5))


def test_rms_norm_of_a_head_is_torch_s():
    torch, t = tensors({"x": reals(2, 3, 4), "weight": reals(4)})
    outputs = {"y": torch.nn.functional.rms_norm(t["x"], (4,), t["weight"], 1e-6)}
    inputs = {name: leaf.detach().numpy() for name, leaf in t.items()}
    assert_agrees("rms_qk_norm", inputs, {}, outputs, t)


def test_l2_norm_is_torch_s():
    torch, t = tensors({"x": reals(2, 3, 4), "logit_scale": np.array([np.log(10), 7.0])})
    bound = np.log(100)
    factor = torch.clamp(t["logit_scale"], max=bound).exp()[:, None, None]
    outputs = {"y": factor * torch.nn.functional.normalize(t["x"], dim=-1)}
    inputs = {name: leaf.detach().numpy() for name, leaf in t.items()}
    assert_agrees("l2_qk_norm", inputs, {"max_logit_scale": bound}, outputs, t)


def test_decoding_token_by_token_is_causal_attention():
    q, k, v = reals(2, 3, 4), reals(2, 3, 4), reals(2, 3, 4)
    whole = DEFINITIONS["attention"]({"q": q, "k": k, "v": v}, {"q_offset": 0})
    cache = {"k_cache": k[:, :0], "v_cache": v[:, :0]}
    for t in range(3):
        step = {"q": q[:, t : t + 1], "k": k[:, t : t + 1], "v": v[:, t : t + 1], **cache}
        result = DEFINITIONS["attention_decode"](step, {})
        close(result["y"], whole["y"][:, t : t + 1])
        cache = {name: result[name] for name in cache}
    close(cache["k_cache"], k)


def test_merged_halves_are_the_whole():
    whole = DEFINITIONS["attention"](QKV, {})
    halves = {}
    for n, keys in ((1, slice(0, 1)), (2, slice(1, 3))):
        part = DEFINITIONS["attention"]({"q": QKV["q"], "k": QKV["k"][:, keys], "v": QKV["v"][:, keys]}, {})
        halves |= {f"y{n}": part["y"], f"lse{n}": part["lse"]}
    merged = DEFINITIONS["merge_blocks"](halves, {})
    close(merged["y"], whole["y"])
    close(merged["lse"], whole["lse"])


def test_mla_without_position_and_with_one_head_is_plain_attention():
    """cos = 1, sin = 0 and a latent of root mean square 1: keys and values are the latent's own projections."""
    latent = np.array([[1.0, -1.0], [1.0, 1.0]])
    q, k_rope, w = reals(1, 2, 4), reals(2, 2), reals(2, 2)
    still = {"cos": np.ones((2, 1)), "sin": np.zeros((2, 1)), "norm_weight": np.ones(2)}
    inputs = {"q": q, "latent": latent, "k_rope": k_rope, "w_uk": w, "w_uv": w, **still}
    got = y("mla_attention", inputs, q_offset=0, eps=0)
    keys = np.concatenate([latent @ w, k_rope], axis=-1)[None]
    close(got, y("attention", {"q": q, "k": keys, "v": (latent @ w)[None]}, q_offset=0))
