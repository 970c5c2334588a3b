"""Rotations against torch's complex product and against the released models that turn the same way."""

from __future__ import annotations

import numpy as np
import pytest

from .checks import assert_agrees, assert_gradient_is_the_derivative, close, tensors, y

RANDOM = np.random.default_rng(34)


def reals(*shape):
    return RANDOM.normal(size=shape)


INTS = np.array([-1, 5, 90])
TABLE = {"cos": reals(3, 2), "sin": reals(3, 2)}
LATENT = {"q_nope": reals(2, 3, 5), "q_pe": reals(2, 3, 4), "k_nope": reals(2, 3, 5), "k_pe": reals(3, 4), **TABLE}
BATCH = {name: np.stack([a, 0.5 - a]) if name not in TABLE else a for name, a in LATENT.items()}
SPOTS = reals(2, 3)
TURNED = {"x": reals(2, 3, 4), "positions": INTS, "frequencies": reals(2)}
CASES = {
    "rope/to-halves": ("rope", {"x": reals(2, 3, 4), **TABLE}, {"interleaved_output": False}),
    "rope/to-pairs": ("rope", {"x": reals(3, 4), **TABLE}, {"interleaved": False, "interleaved_output": True}),
    "partial": ("partial_rope", {"x": reals(2, 3, 7), **TABLE}, {"interleaved": False}),
    "partial/interleaved": ("partial_rope", {"x": reals(3, 5), **TABLE}, {}),
    "frequencies": ("rotary_embedding", {**TURNED, "attention_factor": np.array(1.5)}, {"interleaved": False}),
    "frequencies/heads": ("rotary_embedding", {**TURNED, "frequencies": reals(2, 2)}, {}),
    "xpos/queries": ("xpos", {"x": reals(2, 3, 6), "positions": INTS}, {"centre": 1, "base": 50.0}),
    "xpos/keys": ("xpos", {"x": reals(3, 6), "positions": INTS}, {"centre": 2, "keys": True, "interleaved": False}),
    "axial": ("axial_rope", {"x": reals(2, 3, 8), "positions": SPOTS}, {"base": 100.0}),
    "axial/halves": ("axial_rope", {"x": reals(3, 8), "positions": SPOTS}, {"layout": "halves"}),
    "axial/halves_per_axis": ("axial_rope", {"x": reals(3, 8), "positions": SPOTS}, {"layout": "halves_per_axis"}),
    "axial/even_odd": ("axial_rope", {"x": reals(3, 8), "positions": SPOTS}, {"layout": "even_odd"}),
    "mla": ("mla_rope", LATENT, {}),
    "mla/batch": ("mla_rope", BATCH, {"interleaved": False}),
    "mla/to-halves": ("mla_rope", BATCH, {"interleaved_output": False}),
    "permute_pairs": ("permute_pairs", {"weight": reals(2, 12)}, {"H": 2}),
    "permute_pairs/back": ("permute_pairs", {"weight": reals(12)}, {"H": 3, "to_interleaved": True}),
    "query_temperature": ("query_temperature", {"x": reals(2, 3, 4), "positions": INTS}, {"step": 10, "scale": 0.3}),
}


@pytest.mark.parametrize("case", CASES)
def test_gradient_is_the_derivative(case):
    op, inputs, params = CASES[case]
    assert_gradient_is_the_derivative(op, inputs, params, fixed=("positions",))


def turned(torch, x, cos, sin, interleaved=True):
    """The complex product (x1 + i x2)(cos + i sin)."""
    pairs = x.unflatten(-1, (-1, 2)) if interleaved else x.unflatten(-1, (2, -1)).mT
    result = torch.view_as_real(torch.view_as_complex(pairs.contiguous()) * torch.complex(cos, sin))
    return result.flatten(-2) if interleaved else result.mT.flatten(-2)


def test_reading_pairs_and_writing_halves_is_deepseek_v3_as_released():
    op, inputs, params = CASES["rope/to-halves"]
    _, t = tensors(inputs)
    deepseek = pytest.importorskip("transformers.models.deepseek_v3.modeling_deepseek_v3")
    cos, sin = (t[name].repeat(1, 2)[None] for name in ("cos", "sin"))
    result, _ = deepseek.apply_rotary_pos_emb_interleave(t["x"][None], t["x"][None], cos, sin)
    assert_agrees(op, inputs, params, {"y": result[0]}, t)


@pytest.mark.parametrize("case", ["partial", "partial/interleaved"])
def test_partial_rope_turns_four_channels_and_passes_the_rest(case):
    op, inputs, params = CASES[case]
    torch, t = tensors(inputs)
    result = torch.cat([turned(torch, t["x"][..., :4], t["cos"], t["sin"], **params), t["x"][..., 4:]], -1)
    assert_agrees(op, inputs, params, {"y": result}, t)


@pytest.mark.parametrize("case", ["frequencies", "frequencies/heads"])
def test_learned_frequencies_in_torch(case):
    op, inputs, params = CASES[case]
    torch, t = tensors(inputs)
    angles = t["positions"][:, None] * (t["frequencies"] if case == "frequencies" else t["frequencies"][:, None])
    m = t.get("attention_factor", 1)
    result = turned(torch, t["x"], m * angles.cos(), m * angles.sin(), **params)
    assert_agrees(op, inputs, params, {"y": result}, t)


# --- xPos -------------------------------------------------------------------------------------------------------------


def test_xpos_as_x_transformers():
    torch = pytest.importorskip("torch")
    peer = pytest.importorskip("x_transformers.x_transformers")
    x = reals(7, 6)
    freqs, scale = peer.RotaryEmbedding(6, use_xpos=True, scale_base=16).double()(torch.arange(7))
    for keys in (False, True):
        want = peer.apply_rotary_pos_emb(torch.tensor(x)[None], freqs, 1 / scale if keys else scale)[0]
        got = y("xpos", {"x": x, "positions": np.arange(7)}, centre=3, scale_base=16, keys=keys)
        close(got, want.numpy(), 1e-5)


def test_xpos_scores_decay_with_distance_alone():
    """q at p against k at s: zeta^((p - s)/scale_base) on each pair's score, whatever the centre."""
    q, k = reals(1, 4), reals(1, 4)

    def score(p, s, centre):
        options = {"centre": centre, "scale_base": 8.0, "gamma": 0.4}
        left = y("xpos", {"x": q, "positions": np.array([p])}, **options)
        return float((left * y("xpos", {"x": k, "positions": np.array([s])}, keys=True, **options)).sum())

    close(score(9, 4, 0), score(25, 20, 3), 1e-14)
    plain = [y("rotary_embedding", {"x": v, "positions": np.array([p])}) for v, p in ((q, 9), (k, 4))]
    by_pair = (plain[0] * plain[1]).reshape(2, 2).sum(-1)
    close(score(9, 4, 0), sum(by_pair * np.array([0.4 / 1.4, 0.9 / 1.4]) ** (5 / 8)), 1e-14)


# --- two axes ---------------------------------------------------------------------------------------------------------

PATCHES = np.array([[0, 1, 2, 7], [3, 0, 5, 1]])


def grid_table(name, kind, positions):
    """The released table of a vision model with heads of 8 channels, base 10000, in float32."""
    torch = pytest.importorskip("torch")
    module = pytest.importorskip(f"transformers.models.{name}.modeling_{name}")
    rotary = getattr(module, kind)
    config = type("Config", (), {"rope_parameters": {"rope_type": "axial", "rope_theta": 1e4}, "head_dim": 8})()
    return module, rotary(config)(torch.zeros(1), torch.tensor(positions))


def test_pixtral_gives_the_rows_the_even_frequencies():
    module, (cos, sin) = grid_table("pixtral", "PixtralVisionRotaryEmbedding", PATCHES.T)
    x = reals(4, 8)
    close(y("axial_rope", {"x": x, "positions": PATCHES}, layout="even_odd"), half_split(module, x, cos, sin), 1e-6)


def test_qwen_vision_puts_both_axes_in_each_half():
    module, (cos, sin) = grid_table("qwen2_vl", "Qwen2VLVisionRotaryEmbedding", PATCHES.T)
    x = reals(4, 8)
    close(y("axial_rope", {"x": x, "positions": PATCHES}, layout="halves"), half_split(module, x, cos, sin), 1e-6)


def half_split(module, x, cos, sin):
    torch = pytest.importorskip("torch")
    x, cos, sin = torch.tensor(x), cos.reshape(4, 8).double(), sin.reshape(4, 8).double()
    return (x * cos + module.rotate_half(x) * sin).numpy()


def test_gemma_vision_turns_each_axis_in_its_own_half():
    torch = pytest.importorskip("torch")
    module, (cos, sin) = grid_table("gemma4", "Gemma4VisionRotaryEmbedding", PATCHES.T[None])
    x = reals(4, 8)
    places = torch.tensor(PATCHES.T[None])
    want = module.apply_multidimensional_rope(torch.tensor(x)[None, :, None], cos, sin, places)[0, :, 0]
    close(y("axial_rope", {"x": x, "positions": PATCHES}, layout="halves_per_axis"), want.numpy(), 1e-6)


def test_interleaved_axes_as_rope_vit():
    """The first half of the complex channels turns by x, the second by y, at 100^(-4j/D)."""
    op, inputs, params = CASES["axial"]
    torch, t = tensors(inputs)
    frequencies = torch.tensor([1.0, 0.1], dtype=torch.float64)
    angles = torch.cat([place[:, None] * frequencies for place in t["positions"]], -1)
    assert_agrees(op, inputs, params, {"y": turned(torch, t["x"], angles.cos(), angles.sin())}, t)


# --- shared keys, permutations, temperature ---------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["mla", "mla/batch"])
def test_latent_queries_and_keys_in_torch(case):
    op, inputs, params = CASES[case]
    torch, t = tensors(inputs)
    q = torch.cat([t["q_nope"], turned(torch, t["q_pe"], t["cos"], t["sin"], **params)], -1)
    shared = turned(torch, t["k_pe"], t["cos"], t["sin"], **params).unsqueeze(-3)
    k = torch.cat([t["k_nope"], shared.expand(*t["k_nope"].shape[:-1], 4)], -1)
    assert_agrees(op, inputs, params, {"q": q, "k": k}, t)


def test_latent_queries_and_keys_as_deepseek_v3_writes_them():
    op, inputs, params = CASES["mla/to-halves"]
    torch, t = tensors(inputs)
    deepseek = pytest.importorskip("transformers.models.deepseek_v3.modeling_deepseek_v3")
    cos, sin = (t[name].repeat(1, 2)[None] for name in ("cos", "sin"))
    q_pe, k_pe = deepseek.apply_rotary_pos_emb_interleave(t["q_pe"], t["k_pe"][:, None], cos, sin)
    q, k = torch.cat([t["q_nope"], q_pe], -1), torch.cat([t["k_nope"], k_pe.expand(2, 2, 3, 4)], -1)
    assert_agrees(op, inputs, params, {"q": q, "k": k}, t)


def test_permuted_weights_turn_in_halves_as_the_others_turn_in_pairs():
    """The conversion script of Llama: view (H, D/2, 2), swap the last two."""
    torch = pytest.importorskip("torch")
    weight = CASES["permute_pairs"][1]["weight"]
    got = y("permute_pairs", {"weight": weight}, H=2)
    close(got, torch.tensor(weight).reshape(2, 2, 3, 2).mT.reshape(2, 12).numpy(), 0)
    close(got[0, :6], weight[0, [0, 2, 4, 1, 3, 5]], 0)
    close(y("permute_pairs", {"weight": got}, H=2, to_interleaved=True), weight, 0)
    spot = {"positions": np.array([4, 9])}
    pairs = y("rotary_embedding", {"x": weight[:, :6], **spot})
    halves = y("rotary_embedding", {"x": np.asarray(got[:, :6], dtype=float), **spot}, interleaved=False)
    close(y("permute_pairs", {"weight": pairs}, H=1), halves, 1e-30)


def test_query_temperature_as_llama4_and_ministral():
    """Llama 4: 0.1 ln(1 + floor((p + 1)/8192)) + 1; Ministral 3 has p for p + 1."""
    places = np.array([0, 8190, 8191, 16382, 16383])
    warm = 1 + 0.1 * np.log([1, 1, 2, 2, 3])
    close(y("query_temperature", {"x": np.ones((5, 1)), "positions": places}), warm[:, None], 1e-15)
    torch = pytest.importorskip("torch")
    ministral = pytest.importorskip("transformers.models.ministral3.modeling_ministral3")
    places = np.array([0, 15, 16, 17, 100])
    want = ministral.get_llama_4_attn_scale(torch.tensor(places)[None], 0.3, 16)[0, 0]
    got = y("query_temperature", {"x": np.ones((5, 1)), "positions": places}, step=16, scale=0.3, offset=0)
    close(got, want.numpy(), 1e-6)
