"""The definitions against numbers published elsewhere, against torch, and each gradient against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp

from . import DEFINITIONS, GRADIENTS
from .checks import assert_agrees, assert_gradient_is_the_derivative, close, tensors, y

GENERATOR = np.random.default_rng(20)


@pytest.fixture(autouse=True)
def same_numbers_in_any_order():
    GENERATOR.bit_generator.state = np.random.default_rng(21).bit_generator.state


def reals(*shape):
    return GENERATOR.normal(size=shape)


def keeps(*shape):
    return GENERATOR.random(shape) < 0.7


def test_every_definition_and_every_gradient_names_its_source():
    assert set(GRADIENTS) <= set(DEFINITIONS)
    assert all(function.__doc__ for function in [*DEFINITIONS.values(), *GRADIENTS.values()])


# --- published numbers ------------------------------------------------------------------------------------------------

SLOPES = {
    1: [-8],
    3: [-4, -8, -2],
    6: [-2, -4, -6, -8, -1, -3],
    8: [-1, -2, -3, -4, -5, -6, -7, -8],
    12: [-1, -2, -3, -4, -5, -6, -7, -8, -0.5, -1.5, -2.5, -3.5],
}


@pytest.mark.parametrize("H", SLOPES)
def test_alibi_slopes_as_released(H):
    close(y("alibi_slopes", {}, H=H), 2.0 ** np.array(SLOPES[H]))


def test_alibi_max_bias_replaces_eight():
    close(y("alibi_slopes", {}, H=2, max_bias=4), [0.25, 0.0625])


def test_alibi_figure_3():
    """Press et al. 2022, figure 3: the triangle 0; -1 0; -2 -1 0; ... times m."""
    triangle = y("alibi", {"slopes": np.array([0.5])}, T=3, S=3)[0]
    assert [[float(b) for b in row[: i + 1]] for i, row in enumerate(triangle)] == [[0], [-0.5, 0], [-1, -0.5, 0]]
    close(y("alibi", {"slopes": np.array([0.5])}, T=1, S=4, q_offset=2), [[[-1, -0.5, 0, -0.5]]])
    close(y("alibi", {"slopes": np.array([0.5])}, T=2, S=3, q_offset=7, key_only=True), [[[0, 0.5, 1], [0, 0.5, 1]]])


TUTORIAL = [
    [0, 1, 0, 1],
    [0.84147098, 0.54030231, 0.09983342, 0.99500417],
    [0.90929743, -0.41614684, 0.19866933, 0.98006658],
    [0.14112001, -0.9899925, 0.29552021, 0.95533649],
]


def test_sinusoidal_table_of_a_tutorial():
    """The 4 by 4 table of machinelearningmastery.com's lesson on positional encoding: d = 4, n = 100."""
    close(y("sinusoidal", {"positions": np.arange(4)}, C=4, base=100), TUTORIAL, 1e-8)
    empty_words = {"ids": np.array([[1, 0]]), "weight": np.zeros((2, 4))}
    close(y("transformer_embedding", empty_words, base=100, start=2), [TUTORIAL[2:]], 1e-8)


@pytest.mark.parametrize(("pair", "wavelength"), [(0, 2 * np.pi), (128, 200 * np.pi), (255, 60611)])
def test_sinusoidal_wavelengths(pair, wavelength):
    """From 2 pi up to 60611 = 2 pi 10000^(510/512), not to 10000 * 2 pi."""
    small = y("sinusoidal", {"positions": np.array([0.001])}, C=512)[0, 2 * pair]
    close(2 * mp.pi * 0.001 / mp.asin(small), wavelength, 1e-5)


def test_sinusoidal_at_odd_width_ends_in_a_sine():
    close(y("sinusoidal", {"positions": np.array(-3)}, C=3)[2], np.sin(-3 * 10000 ** (-2 / 3)))


def test_rotary_embedding_turns_at_the_wavenumbers_of_the_sinusoidal_table():
    """The same tutorial's table: (0, 1) turned by -p w_k is (sin p w_k, cos p w_k)."""
    up = np.array([[0.0, 1, 0, 1]] * 4)
    close(y("rotary_embedding", {"x": up, "positions": -np.arange(4)}, base=100), TUTORIAL, 1e-8)


ROPE = {True: [-1.1426, 1.9221, 2.9599, 4.0298], False: [-1.9841, 1.9599, 2.4624, 4.0198]}


@pytest.mark.parametrize("interleaved", ROPE)
def test_rope_of_1234_at_position_1(interleaved):
    x, positions = np.array([[1.0, 2, 3, 4]]), np.array([1])
    table = DEFINITIONS["rope_cos_sin"]({"positions": positions}, {"D": 4})
    for got in (
        y("rope", {"x": x, **table}, interleaved=interleaved),
        y("rotary_embedding", {"x": x, "positions": positions}, interleaved=interleaved),
    ):
        close(got, [ROPE[interleaved]], 5e-5)


def test_softmax_of_the_illustrated_transformer():
    """jalammar.github.io/illustrated-transformer: scores 112 and 96, divided by 8, give 0.88 and 0.12."""
    close(y("softmax", {"x": np.array([14.0, 12.0])}), [0.88, 0.12], 1e-2)
    q, k = np.zeros((1, 1, 64)), np.zeros((1, 2, 64))
    q[..., 0], k[0, :, 0] = 16, (7, 6)
    one_hot = DEFINITIONS["attention"]({"q": q, "k": k, "v": np.eye(2)[None]}, {})
    close(one_hot["y"], [[[0.88, 0.12]]], 1e-2)
    close(one_hot["lse"], [[14.1269]], 1e-5)


def test_an_empty_row_is_zero_with_lse_minus_infinity():
    inputs = {"q": reals(2, 3, 5), "k": reals(1, 4, 5), "v": reals(1, 4, 7)}
    result = DEFINITIONS["attention"](inputs, {"q_offset": -1})
    assert all(value == 0 for value in result["y"][:, 0].flat)
    assert all(value != 0 for value in result["y"][:, 1:].flat)
    assert [value == -mp.inf for value in result["lse"][0]] == [True, False, False]
    cotangents = {"y": reals(2, 3, 7), "lse": reals(2, 3)}
    gradient = GRADIENTS["attention"](inputs, {"q_offset": -1}, cotangents)
    assert all(value == 0 for value in gradient["q"][:, 0].flat)
    assert all(value == 0 for value in gradient["k"][:, 2:].flat)
    assert all(value == 0 for value in y("softmax", {"x": reals(1, 3), "mask": np.zeros((1, 1), bool)}).flat)


def test_one_visible_key_has_a_gradient_of_exactly_zero():
    inputs = {"q": reals(1, 1, 3), "k": reals(1, 2, 3), "v": reals(1, 2, 2)}
    gradient = GRADIENTS["attention"](inputs, {"q_offset": 0}, {"y": reals(1, 1, 2)})
    assert all(value == 0 for value in [*gradient["q"].flat, *gradient["k"].flat])


def test_tables_do_not_wrap():
    for index in (-1, 3):
        with pytest.raises(IndexError):
            y("token_embedding", {"ids": np.array([index]), "weight": reals(3, 2)})
        with pytest.raises(IndexError):
            y("learned_position", {"positions": np.array([index]), "weight": reals(3, 2)})


# --- each gradient is the derivative of its definition ----------------------------------------------------------------

IDS = np.array([[4, 1, 4], [0, 2, 4]])
ATTENTION = {"q": reals(2, 6, 3, 5), "k": reals(2, 3, 4, 5), "v": reals(2, 3, 4, 7)}
MASK = keeps(2, 1, 3, 4)
MASK[1, 0, 2] = False
PROJECTIONS = {"w_q": reals(3, 8), "w_k": reals(3, 4), "w_v": reals(3, 6), "w_o": reals(12, 5)}
BIASES = {"b_q": reals(8), "b_k": reals(4), "b_v": reals(6), "b_o": reals(5)}
TURNS = {"cos": reals(3, 1), "sin": reals(3, 1)}

CASES = {
    "linear": ("linear", {"x": reals(2, 3, 5), "weight": reals(5, 7), "bias": reals(7)}, {}),
    "linear/no-bias": ("linear", {"x": reals(3, 5), "weight": reals(5, 2)}, {}),
    "token_embedding": ("token_embedding", {"ids": IDS, "weight": reals(5, 3)}, {}),
    "token_embedding/padding": (
        "token_embedding",
        {"ids": IDS, "weight": reals(5, 3)},
        {"padding_idx": 4, "scale_by_sqrt_width": True},
    ),
    "learned_position": ("learned_position", {"positions": np.array([2, 0, 2]), "weight": reals(4, 3)}, {}),
    "sinusoidal": ("sinusoidal", {"positions": np.array([[-2.5, 0.0], [0.5, 131071.0]])}, {"C": 5, "base": 50.0}),
    "sinusoidal/integers": ("sinusoidal", {"positions": np.array([-2, 7])}, {"C": 4}),
    "dropout": ("dropout", {"x": reals(3, 5), "keep": keeps(3, 5)}, {"p": 0.3}),
    "transformer_embedding": ("transformer_embedding", {"ids": IDS, "weight": reals(5, 3)}, {"start": 3}),
    "transformer_embedding/sequence-first": (
        "transformer_embedding",
        {"ids": IDS, "weight": reals(5, 3), "position_weight": reals(5, 3), "keep": keeps(2, 3, 3)},
        {"position": "learned", "padding_idx": 4, "start": 2, "p": 0.25, "batch_first": False},
    ),
    "transformer_embedding/none": (
        "transformer_embedding",
        {"ids": IDS, "weight": reals(5, 3)},
        {"position": "none", "scale_by_sqrt_width": False},
    ),
    "rope": ("rope", {"x": reals(2, 3, 4), "cos": reals(3, 2), "sin": reals(3, 2)}, {}),
    "rope/half-split": (
        "rope",
        {"x": reals(2, 2, 3, 6), "cos": reals(2, 1, 3, 3), "sin": reals(1, 3, 3)},
        {"interleaved": False},
    ),
    "rotary_embedding": ("rotary_embedding", {"x": reals(2, 3, 4), "positions": np.array([-1, 5, 9])}, {"base": 7.0}),
    "rotary_embedding/fractions": (
        "rotary_embedding",
        {"x": reals(2, 5, 3, 4), "positions": reals(2, 1, 3)},
        {"interleaved": False},
    ),
    "alibi": ("alibi", {"slopes": reals(3)}, {"T": 2, "S": 5, "q_offset": 3}),
    "alibi/key-only": ("alibi", {"slopes": reals(2, 3)}, {"T": 2, "S": 5, "key_only": True}),
    "softmax": ("softmax", {"x": reals(2, 5)}, {}),
    "softmax/mask": ("softmax", {"x": reals(2, 3, 5), "mask": np.array([[1, 0, 1, 1, 0], [0] * 5, [1] * 5], bool)}, {}),
    "attention": ("attention", ATTENTION, {}),
    "attention/masked": (
        "attention",
        {**ATTENTION, "mask": MASK, "bias": reals(6, 1, 4)},
        {"q_offset": 0, "scale": -0.7},
    ),
    "attention/no-batch": (
        "attention",
        {"q": reals(2, 1, 3), "k": reals(2, 4, 3), "v": reals(2, 4, 2)},
        {"q_offset": 2},
    ),
    "multi_head_attention": (
        "multi_head_attention",
        {"x": reals(2, 3, 3), **PROJECTIONS, **BIASES, **TURNS, "bias": reals(4, 1, 3), "mask": keeps(3, 3)},
        {"H": 4, "G": 2, "q_offset": 0, "interleaved": False},
    ),
    "multi_head_attention/context": (
        "multi_head_attention",
        {"x": reals(3, 3), "context": reals(5, 2), "w_q": reals(3, 4), "w_k": reals(2, 4), "w_v": reals(2, 6)}
        | {"w_o": reals(6, 5), "b_v": reals(6)},
        {"H": 2, "scale": 0.3},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_gradient_is_the_derivative(case):
    op, inputs, params = CASES[case]
    assert_gradient_is_the_derivative(op, inputs, params, fixed=("positions",) if op == "rotary_embedding" else ())


@pytest.mark.parametrize("op", ["attention", "rope", "linear", "sinusoidal", "dropout"])
def test_a_missing_cotangent_is_zero(op):
    _, inputs, params = CASES[op]
    for gradient in GRADIENTS[op](inputs, params, {}).values():
        assert all(value == 0 for value in gradient.flat)


# --- torch ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("masked", [False, True])
def test_attention_is_torch_scaled_dot_product_attention(masked):
    inputs = {**ATTENTION, **({"mask": MASK} if masked else {"bias": reals(2, 6, 3, 4)})}
    torch, t = tensors(inputs)
    extra = t["mask"] if masked else t["bias"]
    result = torch.nn.functional.scaled_dot_product_attention(t["q"], t["k"], t["v"], attn_mask=extra, enable_gqa=True)
    assert_agrees("attention", inputs, {}, {"y": result}, t)


def test_attention_lse_is_torch_logsumexp():
    torch, t = tensors(ATTENTION)
    logits = t["q"] @ t["k"].repeat_interleave(2, dim=1).mT * 0.25
    hidden = torch.ones(3, 4, dtype=torch.bool).triu(2)
    lse = torch.logsumexp(logits.masked_fill(hidden, -torch.inf), -1)
    y = torch.softmax(logits.masked_fill(hidden, -torch.inf), -1) @ t["v"].repeat_interleave(2, dim=1)
    assert_agrees("attention", ATTENTION, {"q_offset": 1, "scale": 0.25}, {"y": y, "lse": lse}, t)


def test_multi_head_attention_is_torch_multi_head_attention():
    inputs = {"x": reals(2, 3, 6), "bias": reals(3, 3), "b_o": reals(6), "w_o": reals(6, 6)}
    inputs |= {f"{kind}_{letter}": reals(*[6] * n) for letter in "qkv" for kind, n in (("w", 2), ("b", 1))}
    torch, t = tensors(inputs)
    x = t["x"].transpose(0, 1)
    result, _ = torch.nn.functional.multi_head_attention_forward(
        x, x, x, 6, 3,
        in_proj_weight=torch.cat([t["w_q"].T, t["w_k"].T, t["w_v"].T]),
        in_proj_bias=torch.cat([t["b_q"], t["b_k"], t["b_v"]]),
        bias_k=None, bias_v=None, add_zero_attn=False, dropout_p=0.0,
        out_proj_weight=t["w_o"].T, out_proj_bias=t["b_o"], need_weights=False, attn_mask=t["bias"],
    )  # fmt: skip
    assert_agrees("multi_head_attention", inputs, {"H": 3}, {"y": result.transpose(0, 1)}, t)


def torch_multi_head_attention(torch, t, H, G=None, scale=None, **_):
    """Grouped heads from torch's own parts; cos and sin turn the halves (j, j + D/2), as torch code commonly does."""

    def heads(source, letter, count):
        return (source @ t[f"w_{letter}"] + t.get(f"b_{letter}", 0)).unflatten(-1, (count, -1)).transpose(-2, -3)

    def turned(x):
        x1, x2 = x.chunk(2, -1)
        return x * t["cos"].repeat(1, 2) + torch.cat([-x2, x1], -1) * t["sin"].repeat(1, 2) if "cos" in t else x

    memory, G = t.get("context", t["x"]), G or H
    q, k, v = turned(heads(t["x"], "q", H)), turned(heads(memory, "k", G)), heads(memory, "v", G)
    hidden = torch.where(t["mask"].tril(), 0.0, -torch.inf) + t["bias"] if "mask" in t else None
    result = torch.nn.functional.scaled_dot_product_attention(q, k, v, hidden, scale=scale, enable_gqa=True)
    return result.transpose(-2, -3).flatten(-2) @ t["w_o"] + t.get("b_o", 0)


@pytest.mark.parametrize("case", ["multi_head_attention", "multi_head_attention/context"])
def test_multi_head_attention_is_its_parts_in_torch(case):
    op, inputs, params = CASES[case]
    torch, t = tensors(inputs)
    assert_agrees(op, inputs, params, {"y": torch_multi_head_attention(torch, t, **params)}, t)


def test_softmax_is_torch_softmax():
    op, inputs, params = CASES["softmax"]
    torch, t = tensors(inputs)
    assert_agrees(op, inputs, params, {"y": torch.softmax(t["x"], -1)}, t)


def test_linear_is_torch_linear_with_the_weight_transposed():
    op, inputs, params = CASES["linear"]
    torch, t = tensors(inputs)
    assert_agrees(op, inputs, params, {"y": torch.nn.functional.linear(t["x"], t["weight"].T, t["bias"])}, t)


def test_token_embedding_is_torch_embedding():
    op, inputs, params = CASES["token_embedding/padding"]
    torch, t = tensors(inputs)
    assert_agrees(
        op, inputs, params, {"y": torch.nn.functional.embedding(t["ids"], t["weight"], padding_idx=4) * 3**0.5}, t
    )


def test_transformer_embedding_is_its_parts_in_torch():
    op, inputs, params = CASES["transformer_embedding/sequence-first"]
    torch, t = tensors(inputs)
    tokens = torch.nn.functional.embedding(t["ids"], t["weight"], padding_idx=4) * 3**0.5
    total = tokens + t["position_weight"][2:4, None]
    assert_agrees(op, inputs, params, {"y": torch.where(t["keep"], total / 0.75, 0.0)}, t)


def test_rope_is_a_complex_product_in_torch():
    op, inputs, params = CASES["rope"]
    torch, t = tensors(inputs)
    turned = torch.view_as_complex(t["x"].reshape(2, 3, 2, 2)) * torch.complex(t["cos"], t["sin"])
    assert_agrees(op, inputs, params, {"y": torch.view_as_real(turned).reshape(2, 3, 4)}, t)
