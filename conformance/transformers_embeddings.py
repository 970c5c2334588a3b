"""Door 1 in transformers: BERT and RoBERTa, sinusoids of several models, and norms, which are float32 inside."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.func import functional_call
from transformers import BertConfig, DataCollatorWithFlattening, RobertaConfig
from transformers.models.bert import modeling_bert
from transformers.models.detr import modeling_detr
from transformers.models.distilbert import modeling_distilbert
from transformers.models.gemma3 import modeling_gemma3
from transformers.models.llama import modeling_llama
from transformers.models.llama4 import modeling_llama4
from transformers.models.m2m_100 import modeling_m2m_100
from transformers.models.marian import modeling_marian
from transformers.models.olmo2 import modeling_olmo2
from transformers.models.roberta import modeling_roberta
from transformers.models.rt_detr import modeling_rt_detr

from conformance.torch_arrays import Function
from conformance.unsupported import require

LONGEST = 2**12  # of the tables that DistilBERT fills entry by entry


def bert_embedding(
    ids: Tensor,
    segments: Tensor,
    weight: Tensor,
    segment_weight: Tensor,
    position_weight: Tensor,
    norm_weight: Tensor,
    norm_bias: Tensor,
    positions: Tensor | None = None,
    keep: Tensor | None = None,
    *,
    padding_idx: int | None = None,
    position_padding_idx: int | None = None,
    eps: float = 1e-12,
    p: float = 0.0,
) -> Tensor:
    require(keep is None, "dropout draws its own mask")
    roberta = position_padding_idx is not None
    require(not roberta or position_padding_idx == padding_idx, "RoBERTa has one padding index")
    options = {
        "vocab_size": len(weight),
        "hidden_size": weight.shape[1],
        "num_attention_heads": 1,
        "max_position_embeddings": len(position_weight),
        "type_vocab_size": len(segment_weight),
        "pad_token_id": padding_idx,
        "layer_norm_eps": eps,
    }
    family = modeling_roberta.RobertaEmbeddings if roberta else modeling_bert.BertEmbeddings
    module = family((RobertaConfig if roberta else BertConfig)(**options)).to(weight.dtype).eval()
    parameters = {
        "word_embeddings.weight": weight,
        "token_type_embeddings.weight": segment_weight,
        "position_embeddings.weight": position_weight,
        "LayerNorm.weight": norm_weight,
        "LayerNorm.bias": norm_bias,
    }
    given = {} if positions is None else {"position_ids": positions.expand(ids.shape)}
    return functional_call(module, parameters, (ids, segments), given)


def positions_from_padding(mask: Tensor, *, first: int = 2, padding_position: int = 1) -> Tensor:
    """RoBERTa: padding has the id and the position of padding, tokens follow it."""
    past = first - padding_position - 1
    require(past >= 0, "the first token comes after padding's position")
    ids = torch.where(mask, padding_position + 1, padding_position)
    return modeling_roberta.RobertaEmbeddings.create_position_ids_from_input_ids(ids, padding_position, past)


def positions_in_documents(documents: Tensor, *, first: int = 0) -> Tensor:
    require(documents.ndim == 1 and first == 0, "the collator packs one row, counted from 0")
    lengths = torch.unique_consecutive(documents, return_counts=True)[1].tolist()
    features = [{"input_ids": list(range(length))} for length in lengths]
    return DataCollatorWithFlattening(return_tensors="pt")(features)["position_ids"][0].long()


def sinusoidal(
    positions: Tensor,
    *,
    C: int,
    base: float = 10000.0,
    layout: str = "interleaved",
    frequency_shift: int = 0,
    pad_odd: bool = False,
    dtype: str = "float64",
) -> Tensor:
    """DistilBERT interleaves, Marian and M2M-100 have halves; M2M-100's waves end at 1 / base."""
    whole = not positions.is_floating_point() and int(positions.min()) >= 0 and int(positions.max()) < LONGEST
    require(whole and base == 10000.0, "tables of whole positions from 0, base 10,000")
    length, shifted = int(positions.max()) + 1, frequency_shift == 1
    if layout == "interleaved":
        require(not shifted and not pad_odd, "DistilBERT divides by the width, and ends in a sine")
        table = modeling_distilbert.create_sinusoidal_embeddings(length, C, torch.empty(length, C))
    else:
        require(layout == "sin_cos" and (C % 2 == 0 or shifted == pad_odd), "sines first; padded in M2M-100 alone")
        marian = modeling_marian.MarianSinusoidalPositionalEmbedding
        m2m100 = modeling_m2m_100.M2M100SinusoidalPositionalEmbedding
        table = m2m100.get_embedding(length, C) if shifted else marian(length, C).create_weight()
    return table[positions].to(getattr(torch, dtype))


def sinusoidal_2d(
    positions: Tensor,
    *,
    C: int,
    columns_first: bool = False,
    layout: str = "interleaved",
    base: float = 10000.0,
    frequency_shift: int = 0,
    dtype: str = "float64",
) -> Tensor:
    """DETR interleaves and counts from 1, RT-DETR has halves and counts from 0."""
    require(base == 10000.0 and frequency_shift == 0, "base 10,000, frequencies over the width")
    require(not positions.is_floating_point() and not columns_first and C % 4 == 0, "grids, rows first")
    to, (rows, columns) = getattr(torch, dtype), (positions.flatten(0, -2).amax(dim=0) + 1).tolist()
    if layout == "sin_cos":
        table = modeling_rt_detr.build_2d_sinusoidal_position_embedding(rows, columns, C, dtype=to)
        return table.reshape(rows, columns, C)[tuple(positions.unbind(-1))]
    require(layout == "interleaved" and bool((positions > 0).all()), "DETR interleaves and counts from 1")
    shape = torch.Size((1, 1, rows - 1, columns - 1))
    table = modeling_detr.DetrSinePositionEmbedding.build_sine_position_embedding(shape, "cpu", to, C // 2)[0]
    table = table.permute(1, 2, 0) if table.ndim == 3 and len(table) == C else table.reshape(rows - 1, columns - 1, C)
    return table[tuple((positions - 1).unbind(-1))]


def rms_norm(x: Tensor, weight: Tensor | None = None, *, eps: float = 1e-6, unit_offset: bool = False) -> Tensor:
    """Llama's gain is the weight, Gemma 3's 1 + weight, Llama 4 has a norm without."""
    if weight is None:
        return modeling_llama4.Llama4TextL2Norm(eps=eps)(x)
    family = modeling_gemma3.Gemma3RMSNorm if unit_offset else modeling_llama.LlamaRMSNorm
    return functional_call(family(len(weight), eps=eps), {"weight": weight}, (x,))


def rms_qk_norm(
    x: Tensor, weight: Tensor | None = None, *, eps: float = 1e-6, unit_offset: bool = False, over_heads: bool = False
) -> Tensor:
    """A head alone, or OLMo 2's: all heads as one vector."""
    if not over_heads:
        require(weight is None or weight.ndim == 1, "one gain for all heads")
        return rms_norm(x, weight, eps=eps, unit_offset=unit_offset)
    require(weight is not None and weight.ndim == 2, "OLMo 2's gain is as wide as all heads")
    assert weight is not None
    rows, norm = x.transpose(-3, -2).flatten(-2), modeling_olmo2.Olmo2RMSNorm(weight.numel(), eps=eps)
    y = functional_call(norm, {"weight": weight.flatten()}, (rows,))
    return y.unflatten(-1, weight.shape).transpose(-3, -2)


OPS: dict[str, Function] = {
    "bert_embedding": bert_embedding,
    "positions_from_padding": positions_from_padding,
    "positions_in_documents": positions_in_documents,
    "sinusoidal": sinusoidal,
    "sinusoidal_2d": sinusoidal_2d,
    "rms_norm": rms_norm,
    "rms_qk_norm": rms_qk_norm,
}
