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


def agrees(module: Any, theirs: Any, ours: Any) -> None:
    """Compare the result, and the gradient of every table."""
    y, residuals = ours
    np.testing.assert_allclose(y, theirs.detach().numpy(), rtol=1e-12, atol=1e-13)
    dy = RNG.standard_normal(y.shape)
    gradients = torch.autograd.grad(theirs, parameters(module), torch.tensor(dy))
    for got, want in zip(r.bert_embedding_backward(dy, residuals), gradients, strict=True):
        np.testing.assert_allclose(got, want.numpy(), rtol=1e-10, atol=1e-12)


def test_bert_embeddings():
    ids, segments = RNG.integers(1, 13, (3, 5)), RNG.integers(0, 2, (3, 5))
    ids[0, 3:] = 0
    module = bert("Bert", pad_token_id=0)
    tables = [parameter.detach().numpy() for parameter in parameters(module)]
    theirs = module(torch.tensor(ids), torch.tensor(segments))
    eps = module.LayerNorm.eps
    assert eps == 1e-12
    agrees(module, theirs, r.bert_embedding_forward(ids, segments, *tables, padding_idx=0, eps=eps))


def test_bert_counts_padding_and_goes_on_after_the_cache():
    ids, module = RNG.integers(1, 13, (2, 3)), bert("Bert", pad_token_id=0)
    tables = [parameter.detach().numpy() for parameter in parameters(module)]
    theirs = module(torch.tensor(ids), cache_length=4)
    positions = r.positions_from_offset(3, start=4, xp=np)
    y, _ = r.bert_embedding_forward(ids, np.zeros_like(ids), *tables, positions=positions, padding_idx=0)
    np.testing.assert_allclose(y, theirs.detach().numpy(), rtol=1e-12, atol=1e-13)


def test_roberta_embeddings():
    """Positions from padding_idx + 1, padding at padding_idx, and that row of both tables without gradient."""
    ids = RNG.integers(2, 13, (3, 5))
    ids[0, 3:], ids[1, :2] = 1, 1
    module = bert("Roberta", pad_token_id=1)
    tables = [parameter.detach().numpy() for parameter in parameters(module)]
    positions = r.positions_from_padding(ids != 1)
    np.testing.assert_array_equal(positions, module.create_position_ids_from_input_ids(torch.tensor(ids), 1).numpy())
    options = {"positions": positions, "padding_idx": 1, "position_padding_idx": 1, "eps": module.LayerNorm.eps}
    theirs = module(torch.tensor(ids), torch.zeros(3, 5, dtype=torch.long))
    agrees(module, theirs, r.bert_embedding_forward(ids, np.zeros_like(ids), *tables, **options))


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


def test_packed_positions_of_the_flattening_collator():
    from transformers import DataCollatorWithFlattening

    features = [{"input_ids": list(range(n))} for n in (3, 1, 4)]
    positions = DataCollatorWithFlattening(return_tensors="np")(features)["position_ids"][0]
    np.testing.assert_array_equal(r.positions_in_documents(np.repeat([0, 1, 2], [3, 1, 4])), positions)


@pytest.mark.parametrize("C", [6, 7, 64])
def test_sinusoids_of_m2m100_are_tensor2tensors(C):
    from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding as Module

    theirs = Module.get_embedding(600, C).numpy()
    y, _ = r.sinusoidal_forward(np.arange(600), C, layout="sin_cos", frequency_shift=1, pad_odd=True)
    np.testing.assert_allclose(y, theirs, atol=TABLE)


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


@pytest.mark.parametrize("C", [6, 7, 64])
def test_sinusoids_of_marian_are_the_papers(C):
    """In halves, one more sine where odd, and unlike Marian's own C++ with C in the exponent."""
    from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding as Module

    theirs = Module(600, C).create_weight().numpy()
    y, _ = r.sinusoidal_forward(np.arange(600), C, layout="sin_cos")
    np.testing.assert_allclose(y, theirs, atol=1e-6)  # float64 angles, stored in float32


@pytest.mark.parametrize("C", [8, 12])
def test_grid_of_detr(C):
    """Rows first, interleaved, counted from 1."""
    from transformers.models.detr.modeling_detr import DetrSinePositionEmbedding as Module

    theirs = Module.build_sine_position_embedding(torch.Size((1, 1, 3, 5)), "cpu", torch.float64, C // 2)
    grid = np.stack(np.meshgrid(np.arange(1, 4), np.arange(1, 6), indexing="ij"), axis=-1)
    y, _ = r.sinusoidal_2d_forward(grid, C)
    theirs = theirs.numpy()[0]
    theirs = theirs.transpose(1, 2, 0) if theirs.shape[0] == C else theirs.reshape(3, 5, C)
    np.testing.assert_allclose(y, theirs, atol=1e-12)


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


@pytest.mark.parametrize(("family", "unit_offset"), [("Llama", False), ("T5", False), ("Gemma", True)])
def test_rms_norms(family, unit_offset):
    """In float32, which they cast to: Gemma keeps weights as gain - 1."""
    module = __import__(f"transformers.models.{family.lower()}.modeling_{family.lower()}", fromlist=["x"])
    norm = getattr(module, "T5LayerNorm" if family == "T5" else f"{family}RMSNorm")(7, eps=1e-6)
    x, weight, dy = (RNG.standard_normal(shape).astype(np.float32) for shape in ((2, 3, 7), (7,), (2, 3, 7)))
    norm.weight.data = torch.tensor(weight)
    given = torch.tensor(x, requires_grad=True)
    theirs = norm(given)
    y, residuals = r.rms_norm_forward(x, weight, eps=1e-6, unit_offset=unit_offset)
    np.testing.assert_allclose(y, theirs.detach().numpy(), rtol=1e-5, atol=1e-6)
    gradients = torch.autograd.grad(theirs, [given, norm.weight], torch.tensor(dy))
    for got, want in zip(r.rms_norm_backward(dy, residuals), gradients, strict=True):
        np.testing.assert_allclose(got, want.numpy(), rtol=1e-4, atol=1e-5)


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
