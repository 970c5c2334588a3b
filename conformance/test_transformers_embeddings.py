"""Door 1 against Hugging Face transformers: its own modules and functions, and autograd through them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import refimpl as r

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

RNG = np.random.default_rng(43)
TABLE = 3e-4  # their frequencies and angles are float32, through exp: 5e-7 of an angle up to 600


def float64(module: Any) -> Any:
    """Fill a module's parameters with normal numbers."""
    module = module.double().eval()
    for parameter in module.parameters():
        parameter.requires_grad_(True)
        parameter.data = torch.tensor(RNG.standard_normal(tuple(parameter.shape)))
    return module


def bert(name: str, **options: Any) -> Any:
    """The embedding layer of BERT or RoBERTa, small."""
    import transformers

    config = getattr(transformers, f"{name}Config")(
        vocab_size=13, hidden_size=6, num_attention_heads=2, max_position_embeddings=17, type_vocab_size=2, **options
    )
    module = getattr(
        __import__(f"transformers.models.{name.lower()}.modeling_{name.lower()}", fromlist=["x"]), f"{name}Embeddings"
    )
    return float64(module(config))


def parameters(module: Any) -> list[Any]:
    """In the order of bert_embedding's arguments."""
    embeddings = (module.word_embeddings, module.token_type_embeddings, module.position_embeddings)
    return [*(embedding.weight for embedding in embeddings), module.LayerNorm.weight, module.LayerNorm.bias]


def test_bert_counts_padding_and_goes_on_after_the_cache():
    ids, module = RNG.integers(1, 13, (2, 3)), bert("Bert", pad_token_id=0)
    tables = [parameter.detach().numpy() for parameter in parameters(module)]
    theirs = module(torch.tensor(ids), cache_length=4)
    positions = r.positions_from_offset(3, start=4, xp=np)
    y, _ = r.bert_embedding_forward(ids, np.zeros_like(ids), *tables, positions=positions, padding_idx=0)
    np.testing.assert_allclose(y, theirs.detach().numpy(), rtol=1e-12, atol=1e-13)


def test_positions_of_opt_and_bart():
    from transformers.models.bart.modeling_bart import BartLearnedPositionalEmbedding
    from transformers.models.opt.modeling_opt import OPTLearnedPositionalEmbedding

    mask = np.array([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], dtype=bool)
    opt = float64(OPTLearnedPositionalEmbedding(9, 4))
    y, _ = r.learned_position_forward(r.positions_from_padding(mask), opt.weight.detach().numpy())
    np.testing.assert_array_equal(y, opt(torch.tensor(mask).long()).detach().numpy())
    bart = float64(BartLearnedPositionalEmbedding(9, 4))
    positions = r.positions_from_offset(5, start=3, offset=2, xp=np)
    y, _ = r.learned_position_forward(positions, bart.weight.detach().numpy())
    np.testing.assert_array_equal(y, bart(torch.zeros(2, 5), cache_length=3)[0].detach().numpy())


def test_m2m100_reads_from_padding_idx_plus_one():
    from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding as Module

    ids = np.array([[1, 1, 5, 7], [3, 4, 1, 1]])
    theirs = Module(20, 6, padding_idx=1)(torch.tensor(ids)).numpy()
    y, _ = r.sinusoidal_forward(r.positions_from_padding(ids != 1), 6, layout="sin_cos", frequency_shift=1)
    np.testing.assert_allclose(y[ids != 1], theirs[ids != 1], atol=TABLE)
    assert np.all(theirs[ids == 1] == 0)  # padding reads a row of zeros there


def test_sinusoids_of_whisper():
    from transformers.models.whisper.modeling_whisper import sinusoids

    y, _ = r.sinusoidal_forward(np.arange(600), 8, layout="sin_cos", frequency_shift=1)
    np.testing.assert_allclose(y, sinusoids(600, 8).numpy(), atol=TABLE)


def test_grids_of_rt_detr():
    """[sin | cos] halves, rows first; ViTMAE exchanges the halves afterwards, to have the columns first as MAE has."""
    from transformers.models.rt_detr.modeling_rt_detr import build_2d_sinusoidal_position_embedding as rt_detr
    from transformers.models.vit_mae.modeling_vit_mae import build_2d_sinusoidal_position_embedding as mae

    grid = np.stack(np.meshgrid(np.arange(3), np.arange(5), indexing="ij"), axis=-1)
    y, _ = r.sinusoidal_2d_forward(grid, 8, layout="sin_cos")
    for build in (rt_detr, mae):
        np.testing.assert_allclose(y.reshape(15, 8), build(3, 5, 8, dtype=torch.float64).numpy(), atol=1e-12)


@pytest.mark.parametrize(("height", "width"), [(20, 28), (8, 12), (24, 4)])
def test_vit_interpolates_bicubically_and_keeps_the_class_token(height, width):
    from transformers.models.vit.modeling_vit import ViTEmbeddings

    weight = RNG.standard_normal((1 + 16, 3))
    fake = SimpleNamespace(position_embeddings=torch.tensor(weight[None], requires_grad=True), patch_size=4)
    patches = torch.zeros(1, 1 + height * width // 16, 3)
    theirs = ViTEmbeddings.interpolate_pos_encoding(fake, patches, height, width)
    sizes = {"height": 4, "width": 4, "new_height": height // 4, "new_width": width // 4}
    y, residuals = r.interpolate_positions_forward(weight, **sizes, prefix=1)
    np.testing.assert_allclose(y, theirs[0].detach().numpy(), atol=1e-13)
    dy = RNG.standard_normal(y.shape)
    (gradient,) = torch.autograd.grad(theirs, fake.position_embeddings, torch.tensor(dy[None]))
    np.testing.assert_allclose(r.interpolate_positions_backward(dy, residuals), gradient[0].numpy(), atol=1e-12)


def test_tied_head_of_gpt2_and_t5():
    """GPT-2's logits are h · weight; T5 divides h by √C first."""
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=11, n_embd=6, n_head=2, n_layer=1, n_positions=8, attn_pdrop=0, embd_pdrop=0, resid_pdrop=0
    )
    model = float64(GPT2LMHeadModel(config))
    ids = torch.tensor([[3, 1, 4, 1, 5]])
    found = model(ids, output_hidden_states=True)
    h, weight = found.hidden_states[-1].detach().numpy(), model.transformer.wte.weight.detach().numpy()
    y, _ = r.tied_head_forward(h, weight)
    np.testing.assert_allclose(y, found.logits.detach().numpy(), rtol=1e-12, atol=1e-12)
