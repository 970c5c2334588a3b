"""What transformers' models do about door 2 beside the cases of the fixtures."""

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
from transformers.models.llama4 import modeling_llama4  # noqa: E402

RNG = np.random.default_rng(43)
FLOAT32: Any = {"rtol": 2e-6, "atol": 1e-9}
TURNED: Any = {"rtol": 0, "atol": 2e-5}  # angles of up to 60 radians in float32


def test_yarn_ignores_one_scale_without_the_other() -> None:
    parameters: dict[str, Any] = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 40.0, "mscale": 0.5}
    parameters |= {"original_max_position_embeddings": 4096}
    config = LlamaConfig(head_dim=64, max_position_embeddings=8192, rope_parameters=parameters)
    _, factor = ROPE_INIT_FUNCTIONS["yarn"](config, torch.device("cpu"))
    neither = r.yarn_attention_factor(40.0, xp=np, dtype=np.float64)
    assert factor == pytest.approx(float(neither))
    assert factor != pytest.approx(float(r.yarn_attention_factor(40.0, mscale=0.5, xp=np, dtype=np.float64)))


VISION: Any = SimpleNamespace(
    rope_parameters={"rope_type": "axial", "rope_theta": 10000.0},
    head_dim=16, embed_dim=48, hidden_size=48, num_attention_heads=3, image_size=12, patch_size=4,
)  # fmt: skip


def test_llama_4_vision_has_pairs_and_counts_from_one() -> None:
    x, t = RNG.standard_normal((1, 3, 9, 16)), np.arange(9)
    turn = modeling_llama4.Llama4VisionRotaryEmbedding(VISION)(torch.zeros(1))
    heads_last = torch.tensor(np.swapaxes(x, 1, 2))  # (B, T, H, D)
    padded = torch.cat([heads_last, heads_last[:, :1]], dim=1)  # the class token comes last, and stays
    found, _ = modeling_llama4.vision_apply_rotary_emb(padded, padded, turn)
    ours, _ = r.axial_rope_forward(x, positions=np.stack([t % 3 + 1, t // 3 + 1]))
    np.testing.assert_allclose(ours, np.swapaxes(found.numpy()[:, :-1], 1, 2), **TURNED)
    np.testing.assert_allclose(found[:, -1], padded[:, -1])


def test_temperature_of_llama_4() -> None:
    """Their line, in float32: log1p(floor((p + 1) / floor_scale)) · attn_scale + 1."""
    config = modeling_llama4.Llama4TextConfig()
    positions = torch.tensor([0, 8190, 8191, 8192, 131071])
    found = torch.log1p(torch.floor((positions.float() + 1.0) / config.floor_scale)) * config.attn_scale + 1.0
    y, _ = r.query_temperature_forward(np.ones((5, 1)), positions=positions.numpy())
    np.testing.assert_allclose(y[:, 0], found.numpy(), **FLOAT32)
