"""Position numbers against those that released models count."""

from __future__ import annotations

import numpy as np
import pytest

from .checks import y

MASK = np.array([[False, True, True, False, True], [True, True, True, True, False]])


def counted(op, inputs, **params):
    got = y(op, inputs, **params)
    assert got.dtype == np.int64
    return got.tolist()


def test_offset():
    assert counted("positions_from_offset", {}, T=3) == [0, 1, 2]
    assert counted("positions_from_offset", {}, T=3, start=4, offset=2) == [6, 7, 8]
    assert counted("positions_from_offset", {}, T=0, offset=2) == []


def test_padding_by_hand():
    assert counted("positions_from_padding", {"mask": MASK}) == [[1, 2, 3, 1, 4], [2, 3, 4, 5, 1]]
    assert counted("positions_from_padding", {"mask": MASK[0]}, first=0) == [1, 0, 1, 1, 2]


def test_padding_as_roberta_counts():
    torch = pytest.importorskip("torch")
    roberta = pytest.importorskip("transformers.models.roberta.modeling_roberta")
    for pad in (0, 1, 7):
        ids = torch.where(torch.tensor(MASK), 3, pad)
        want = roberta.RobertaEmbeddings.create_position_ids_from_input_ids(ids, pad).tolist()
        assert counted("positions_from_padding", {"mask": MASK}, first=pad + 1, padding_position=pad) == want


def test_padding_as_opt_counts():
    torch = pytest.importorskip("torch")
    opt = pytest.importorskip("transformers.models.opt.modeling_opt")
    table = opt.OPTLearnedPositionalEmbedding(6, 1)
    table.weight.data = torch.arange(8.0)[:, None]
    want = table(torch.tensor(MASK).long())[..., 0].tolist()
    assert counted("positions_from_padding", {"mask": MASK}) == want


def test_documents_by_hand():
    documents = np.array([[5, 5, 5, 2, 2, 5], [0, 1, 1, 1, 1, 1]])
    assert counted("positions_in_documents", {"documents": documents}) == [[0, 1, 2, 0, 1, 0], [0, 0, 1, 2, 3, 4]]
    assert counted("positions_in_documents", {"documents": documents[1]}, first=2) == [2, 2, 3, 4, 5, 6]


def test_documents_as_packed_for_flash_attention():
    """Lengths 2, 3, 1 in one row are numbered 0 1, 0 1 2, 0."""
    transformers = pytest.importorskip("transformers")
    examples = [{"input_ids": [9] * length} for length in (2, 3, 1)]
    want = transformers.DataCollatorWithFlattening()(examples)["position_ids"].tolist()
    assert counted("positions_in_documents", {"documents": np.array([[0, 0, 1, 1, 1, 2]])}) == want
