"""Frequencies and rotations of door 2 against Hugging Face transformers: its own functions and modules, in float32."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import refimpl as r

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
from transformers import LlamaConfig  # noqa: E402
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS  # noqa: E402
from transformers.models.deepseek_v3 import modeling_deepseek_v3  # noqa: E402
from transformers.models.gemma4 import modeling_gemma4  # noqa: E402
from transformers.models.gpt_neox import modeling_gpt_neox  # noqa: E402
from transformers.models.gptj import modeling_gptj  # noqa: E402
from transformers.models.llama4 import modeling_llama4  # noqa: E402
from transformers.models.ministral3 import modeling_ministral3  # noqa: E402
from transformers.models.pixtral import modeling_pixtral  # noqa: E402
from transformers.models.qwen2_vl import modeling_qwen2_vl  # noqa: E402
from transformers.models.qwen3_vl import modeling_qwen3_vl  # noqa: E402

F64: Any = {"xp": np, "dtype": np.float64}
RNG = np.random.default_rng(43)
FLOAT32: Any = {"rtol": 2e-6, "atol": 1e-9}
TURNED: Any = {"rtol": 0, "atol": 2e-5}  # angles of up to 60 radians in float32


def theirs(rule: str, D: int, base: float, length: int | None = None, capacity: int = 8192, **options: Any) -> Any:
    """Return the frequencies and the attention factor of their rule."""
    parameters = {"rope_type": rule, "rope_theta": base, **options}
    config = LlamaConfig(head_dim=D, max_position_embeddings=capacity, rope_parameters=parameters)
    frequencies, factor = ROPE_INIT_FUNCTIONS[rule](config, torch.device("cpu"), seq_len=length)
    return frequencies.numpy(), factor


def agree(ours: Any, rule: str, D: int, base: float, **options: Any) -> None:
    frequencies, factor = theirs(rule, D, base, **options)
    plain = not isinstance(ours, tuple)
    np.testing.assert_allclose(ours if plain else ours.frequencies, frequencies, **FLOAT32)
    assert factor == pytest.approx(1.0 if plain else float(ours.attention_factor), rel=1e-12)


@pytest.mark.parametrize(("D", "base"), [(64, 10000.0), (128, 500000.0), (6, 100.0)])
def test_linear_and_proportional(D: Any, base: Any) -> None:
    agree(r.linear_frequencies(D, factor=4.0, base=base, **F64), "linear", D, base, factor=4.0)
    for proportion in (0.25, 0.3, 0.75, 1.0):
        ours = r.proportional_frequencies(D, proportion=proportion, factor=2.0, base=base, **F64)
        agree(ours, "proportional", D, base, factor=2.0, partial_rotary_factor=proportion)


@pytest.mark.parametrize("length", [1, 15, 16, 17, 32, 1000])
def test_dynamic(length: Any) -> None:
    ours = r.dynamic_ntk_frequencies(64, length=length, trained_length=16, factor=4.0, **F64)
    agree(ours, "dynamic", 64, 10000.0, length=length, capacity=16, factor=4.0)


@pytest.mark.parametrize("truncate", [True, False])
@pytest.mark.parametrize(
    ("D", "base", "factor", "trained"),
    [(64, 150000.0, 32.0, 4096), (128, 10000.0, 4.0, 32768), (6, 10.0, 16.0, 600), (14, 10000.0, 4.0, 100)],
)
def test_yarn(D: Any, base: Any, factor: Any, trained: Any, truncate: Any) -> None:
    given: Any = {"factor": factor, "truncate": truncate}
    ours = r.yarn_frequencies(D, trained_length=trained, base=base, **given, **F64)
    agree(ours, "yarn", D, base, original_max_position_embeddings=trained, **given)


@pytest.mark.parametrize(("mscale", "all_dim"), [(1.0, 1.0), (1.0, 0.707), (0.707, 0.707)])
def test_yarn_with_both_scales(mscale: Any, all_dim: Any) -> None:
    """One scale without the other is ignored there; here each has its place, and the defaults are 1 and 0."""
    given: Any = {"factor": 40.0, "mscale": mscale, "mscale_all_dim": all_dim}
    ours = r.yarn_frequencies(64, trained_length=4096, **given, **F64)
    agree(ours, "yarn", 64, 10000.0, original_max_position_embeddings=4096, **given)
    _, alone = theirs("yarn", 64, 10000.0, original_max_position_embeddings=4096, factor=40.0, mscale=0.5)
    assert alone == pytest.approx(float(r.yarn_attention_factor(40.0, **F64)))


@pytest.mark.parametrize("length", [1, 4096, 4097, 100000])
def test_longrope(length: Any) -> None:
    short, long = 1 + RNG.random(32), 1 + 60 * RNG.random(32)
    ours = r.longrope_frequencies(short, long, length=length, trained_length=4096, factor=32.0)
    given: Any = {
        "short_factor": short.tolist(),
        "long_factor": long.tolist(),
        "original_max_position_embeddings": 4096,
    }
    agree(ours, "longrope", 64, 10000.0, length=length, capacity=131072, factor=32.0, **given)


@pytest.mark.parametrize(("D", "factor"), [(128, 8.0), (64, 32.0), (22, 8.0)])
def test_llama3(D: Any, factor: Any) -> None:
    given: Any = {"factor": factor, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    ours = r.llama3_frequencies(D, factor=factor, **F64)
    agree(ours, "llama3", D, 500000.0, original_max_position_embeddings=8192, **given)


def twice(table: np.ndarray) -> Any:
    """Every entry for both halves, as their tables have it."""
    return torch.tensor(np.concatenate([table, table], axis=-1))


def test_deepseek_reads_pairs_and_writes_halves() -> None:
    q, k = RNG.standard_normal((2, 2, 3, 5, 8))
    cos, sin = r.rope_cos_sin(np.arange(5), 8)
    dy = torch.tensor(RNG.standard_normal(q.shape))
    leaf = torch.tensor(q, requires_grad=True)
    rotate = modeling_deepseek_v3.apply_rotary_pos_emb_interleave
    found, of_k = rotate(leaf, torch.tensor(k), twice(cos)[None], twice(sin)[None])
    y, residuals = r.rope_forward(q, cos, sin, interleaved_output=False)
    np.testing.assert_allclose(y, found.detach().numpy(), rtol=1e-12, atol=1e-14)
    (gradient,) = torch.autograd.grad(found, leaf, dy)
    np.testing.assert_allclose(r.rope_backward(dy.numpy(), residuals)[0], gradient.numpy(), rtol=1e-12, atol=1e-14)
    own = [r.rope_forward(x, cos, sin)[0] for x in (q, k)]
    scores = (found @ of_k.mT).detach().numpy()
    np.testing.assert_allclose(scores, own[0] @ own[1].mT, rtol=1e-10, atol=1e-12)


def test_gpt_neox_is_partial_in_halves() -> None:
    q, k = RNG.standard_normal((2, 2, 3, 5, 10))
    cos, sin = r.rope_cos_sin(np.arange(5), 4)
    rotate: Any = modeling_gpt_neox.apply_rotary_pos_emb
    found, _ = rotate(*map(torch.tensor, (q, k)), twice(cos)[None], twice(sin)[None])
    y, _ = r.partial_rope_forward(q, cos, sin, interleaved=False)
    np.testing.assert_allclose(y, found.numpy(), rtol=1e-12, atol=1e-14)


def test_gptj_turns_pairs() -> None:
    x = RNG.standard_normal((2, 5, 3, 8))  # (B, T, H, D)
    cos, sin = r.rope_cos_sin(np.arange(5), 8)
    tables = (torch.tensor(sin)[None], torch.tensor(cos)[None])
    found = modeling_gptj.apply_rotary_pos_emb(torch.tensor(x), *tables)
    y, _ = r.rope_forward(np.swapaxes(x, 1, 2), cos, sin)
    np.testing.assert_allclose(y, np.swapaxes(found.numpy(), 1, 2), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("module", "cycled", "sections"),
    [
        (modeling_qwen2_vl.Qwen2VLRotaryEmbedding, False, [16, 24, 24]),
        (modeling_qwen2_vl.Qwen2VLRotaryEmbedding, False, [2, 3, 3]),
        (modeling_qwen3_vl.Qwen3VLTextRotaryEmbedding, True, [24, 20, 20]),
        (modeling_qwen3_vl.Qwen3VLTextRotaryEmbedding, True, [6, 3, 2]),
    ],
)
def test_mrope(module: Any, cycled: Any, sections: Any) -> None:
    D, positions = 2 * sum(sections), RNG.integers(0, 60, (3, 2, 7))
    parameters = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": sections}
    config = SimpleNamespace(rope_parameters=parameters, head_dim=D, max_position_embeddings=64)
    cos, sin = module(config)(torch.zeros(1), torch.tensor(positions))
    ours = r.mrope_cos_sin(positions, sections=sections, cycled=cycled, base=1e6)
    np.testing.assert_allclose(np.tile(ours.cos, 2), cos.numpy(), **TURNED)
    np.testing.assert_allclose(np.tile(ours.sin, 2), sin.numpy(), **TURNED)


VISION: Any = SimpleNamespace(
    rope_parameters={"rope_type": "axial", "rope_theta": 10000.0},
    head_dim=16, embed_dim=48, hidden_size=48, num_attention_heads=3, image_size=12, patch_size=4,
)  # fmt: skip
GRID = RNG.integers(0, 40, (2, 7))  # h, w


def axial(x: np.ndarray, layout: str, grid: np.ndarray = GRID) -> np.ndarray:
    return r.axial_rope_forward(x, positions=grid, layout=layout)[0]


def test_pixtral_deals_frequencies_out() -> None:
    x = RNG.standard_normal((1, 3, 7, 16))
    cos, sin = modeling_pixtral.PixtralVisionRotaryEmbedding(VISION)(torch.zeros(1), torch.tensor(GRID.T))
    found, _ = modeling_pixtral.apply_rotary_pos_emb(*[torch.tensor(x)] * 2, cos[None], sin[None])
    np.testing.assert_allclose(axial(x, "even_odd"), found.numpy(), **TURNED)


def test_qwen2_vl_vision_has_halves() -> None:
    x = RNG.standard_normal((3, 7, 16))
    cos, sin = modeling_qwen2_vl.Qwen2VLVisionRotaryEmbedding(VISION)(torch.zeros(1), torch.tensor(GRID.T))
    heads_last = torch.tensor(np.swapaxes(x, 0, 1))  # (T, H, D)
    found, _ = modeling_qwen2_vl.apply_rotary_pos_emb_vision(heads_last, heads_last, cos, sin)
    np.testing.assert_allclose(axial(x, "halves"), np.swapaxes(found.numpy(), 0, 1), **TURNED)


def test_gemma_4_vision_has_halves_for_each_axis() -> None:
    x, grid = RNG.standard_normal((2, 3, 7, 16)), torch.tensor(GRID.T)[None].expand(2, -1, -1)
    cos, sin = modeling_gemma4.Gemma4VisionRotaryEmbedding(VISION)(torch.zeros(1), grid)
    found = modeling_gemma4.apply_multidimensional_rope(torch.tensor(np.swapaxes(x, 1, 2)), cos, sin, grid)
    np.testing.assert_allclose(axial(x, "halves_per_axis"), np.swapaxes(found.numpy(), 1, 2), **TURNED)


def test_llama_4_vision_has_pairs_and_counts_from_one() -> None:
    x, t = RNG.standard_normal((1, 3, 9, 16)), np.arange(9)
    turn = modeling_llama4.Llama4VisionRotaryEmbedding(VISION)(torch.zeros(1))
    heads_last = torch.tensor(np.swapaxes(x, 1, 2))  # (B, T, H, D)
    padded = torch.cat([heads_last, heads_last[:, :1]], dim=1)  # the class token comes last, and stays
    found, _ = modeling_llama4.vision_apply_rotary_emb(padded, padded, turn)
    ours = axial(x, "interleaved", np.stack([t % 3 + 1, t // 3 + 1]))
    np.testing.assert_allclose(ours, np.swapaxes(found.numpy()[:, :-1], 1, 2), **TURNED)
    np.testing.assert_allclose(found[:, -1], padded[:, -1])


def test_temperature_of_ministral() -> None:
    positions = np.asarray([[0, 16383, 16384, 131072]])
    found = modeling_ministral3.get_llama_4_attn_scale(torch.tensor(positions), 0.1, 16384)
    y, _ = r.query_temperature_forward(np.ones((4, 1)), positions=positions[0], step=16384, offset=0)
    np.testing.assert_allclose(y, found.numpy()[0, 0], **FLOAT32)


def test_temperature_of_llama_4() -> None:
    """Their line, in float32: log1p(floor((p + 1) / floor_scale)) · attn_scale + 1."""
    config = modeling_llama4.Llama4TextConfig()
    positions = torch.tensor([0, 8190, 8191, 8192, 131071])
    found = torch.log1p(torch.floor((positions.float() + 1.0) / config.floor_scale)) * config.attn_scale + 1.0
    y, _ = r.query_temperature_forward(np.ones((5, 1)), positions=positions.numpy())
    np.testing.assert_allclose(y[:, 0], found.numpy(), **FLOAT32)
