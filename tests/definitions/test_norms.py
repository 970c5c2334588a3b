"""The norms and BERT's input layer against torch and against the released BERT."""

from __future__ import annotations

import numpy as np
import pytest

from .checks import assert_agrees, assert_gradient_is_the_derivative, close, tensors, y

RANDOM = np.random.default_rng(32)


def reals(*shape):
    return RANDOM.normal(size=shape)


NORM = {"x": reals(2, 3, 5), "weight": reals(5), "bias": reals(5)}
BERT = {
    "ids": np.array([[4, 1, 4], [0, 2, 4]]),
    "segments": np.array([[0, 0, 1], [1, 0, 0]]),
    "weight": reals(5, 7),
    "segment_weight": reals(2, 7),
    "position_weight": reals(6, 7),
    "norm_weight": reals(7),
    "norm_bias": reals(7),
}
POSITIONS = np.array([[2, 3, 4], [1, 1, 2]])
CASES = {
    "layer_norm": ("layer_norm", NORM, {"eps": 0.125}),
    "layer_norm/plain": ("layer_norm", {"x": NORM["x"]}, {}),
    "layer_norm/no-weight": ("layer_norm", {"x": NORM["x"], "bias": NORM["bias"]}, {}),
    "rms_norm": ("rms_norm", {"x": NORM["x"], "weight": NORM["weight"]}, {"eps": 0.125, "unit_offset": True}),
    "rms_norm/plain": ("rms_norm", {"x": NORM["x"]}, {}),
    "bert_embedding": ("bert_embedding", BERT, {"padding_idx": 0}),
    "bert_embedding/roberta": (
        "bert_embedding",
        {**BERT, "positions": POSITIONS, "keep": RANDOM.random((2, 3, 7)) < 0.7},
        {"padding_idx": 1, "position_padding_idx": 1, "p": 0.25, "eps": 1e-5},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_gradient_is_the_derivative(case):
    assert_gradient_is_the_derivative(*CASES[case])


def test_a_norm_worked_by_hand():
    """(1, 3): mean 2, deviation 1; root mean square sqrt(5)."""
    close(y("layer_norm", {"x": np.array([1.0, 3.0])}, eps=0), [-1, 1])
    close(y("rms_norm", {"x": np.array([1.0, 3.0])}, eps=0), [5**-0.5, 3 * 5**-0.5])
    close(y("rms_norm", {"x": np.array([1.0, 3.0])}, eps=4), [1 / 3, 1])


@pytest.mark.parametrize("case", ["layer_norm", "layer_norm/plain"])
def test_layer_norm_is_torch_layer_norm(case):
    op, inputs, params = CASES[case]
    torch, t = tensors(inputs)
    result = torch.nn.functional.layer_norm(t["x"], (5,), t.get("weight"), t.get("bias"), params.get("eps", 1e-5))
    assert_agrees(op, inputs, params, {"y": result}, t)


@pytest.mark.parametrize("case", ["rms_norm", "rms_norm/plain"])
def test_rms_norm_is_torch_rms_norm(case):
    op, inputs, params = CASES[case]
    torch, t = tensors(inputs)
    gain = 1 + t["weight"] if "weight" in t else None
    result = torch.nn.functional.rms_norm(t["x"], (5,), gain, params.get("eps", 1e-6))
    assert_agrees(op, inputs, params, {"y": result}, t)


def test_bert_embedding_is_bert_as_released():
    torch, t = tensors(BERT)
    bert = pytest.importorskip("transformers.models.bert.modeling_bert")
    sizes = {"vocab_size": 5, "hidden_size": 7, "num_attention_heads": 1, "max_position_embeddings": 6}
    layer = bert.BertEmbeddings(bert.BertConfig(**sizes, pad_token_id=0)).double().eval()
    tables = {
        "word_embeddings.weight": t["weight"],
        "position_embeddings.weight": t["position_weight"],
        "token_type_embeddings.weight": t["segment_weight"],
        "LayerNorm.weight": t["norm_weight"],
        "LayerNorm.bias": t["norm_bias"],
    }
    result = torch.func.functional_call(layer, tables, (t["ids"],), {"token_type_ids": t["segments"]})
    assert_agrees("bert_embedding", BERT, {"padding_idx": 0}, {"y": result}, t)


def test_bert_embedding_is_its_parts_in_torch():
    op, inputs, params = CASES["bert_embedding/roberta"]
    torch, t = tensors(inputs)
    embedding = torch.nn.functional.embedding
    total = embedding(t["ids"], t["weight"], 1) + t["segment_weight"][t["segments"]]
    total = total + embedding(t["positions"], t["position_weight"], 1)
    normed = torch.nn.functional.layer_norm(total, (7,), t["norm_weight"], t["norm_bias"], 1e-5)
    assert_agrees(op, inputs, params, {"y": torch.where(t["keep"], normed / 0.75, 0.0)}, t)
