"""The table of all ops, in reading order, and the one way to run any of them by name.

To add an op: write its module behind one of the three doors, and its line here. Tests, fixtures and the checker follow.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy

from .attention.attention import attention_backward, attention_forward
from .attention.batch_masks import document_mask, padding_mask
from .attention.blocked import blocked_attention_backward, blocked_attention_forward
from .attention.decode import attention_decode_backward, attention_decode_forward
from .attention.l2_qk_norm import l2_qk_norm_backward, l2_qk_norm_forward
from .attention.linear import linear_backward, linear_forward
from .attention.masks import causal_mask, chunked_mask, prefix_mask, window_mask
from .attention.merge import merge_blocks_backward, merge_blocks_forward
from .attention.mla import mla_attention_backward, mla_attention_forward
from .attention.multi_head import multi_head_attention_backward, multi_head_attention_forward
from .attention.rms_qk_norm import rms_qk_norm_backward, rms_qk_norm_forward
from .attention.softcap import softcap_backward, softcap_forward
from .attention.softmax import softmax_backward, softmax_forward
from .attention.softmax_sink import softmax_sink_backward, softmax_sink_forward
from .bias.alibi import alibi_backward, alibi_forward, alibi_slopes
from .bias.cope import cope_backward, cope_forward
from .bias.deberta import deberta_bias_backward, deberta_bias_forward
from .bias.decomposed import decomposed_2d_bias_backward, decomposed_2d_bias_forward
from .bias.fire import fire_backward, fire_forward
from .bias.fox import fox_backward, fox_forward
from .bias.kerple import kerple_log_backward, kerple_log_forward, kerple_power_backward, kerple_power_forward
from .bias.sandwich import sandwich
from .bias.shaw_keys import shaw_keys_backward, shaw_keys_forward
from .bias.shaw_values import shaw_values_backward, shaw_values_forward
from .bias.swin import swin_bias_backward, swin_bias_forward
from .bias.swin_v2 import swin_v2_bias_backward, swin_v2_bias_forward
from .bias.t5 import t5_bias_backward, t5_bias_forward, t5_buckets
from .bias.transformer_xl import transformer_xl_bias_backward, transformer_xl_bias_forward
from .embeddings.bert import bert_embedding_backward, bert_embedding_forward
from .embeddings.cape import cape_backward, cape_forward
from .embeddings.dropout import dropout_backward, dropout_forward
from .embeddings.interpolate import interpolate_positions_backward, interpolate_positions_forward
from .embeddings.layer_norm import layer_norm_backward, layer_norm_forward
from .embeddings.learned import learned_position_backward, learned_position_forward
from .embeddings.position_rules import positions_from_offset, positions_from_padding, positions_in_documents
from .embeddings.relative_shift import relative_shift_matrix
from .embeddings.renorm import renorm_table
from .embeddings.rms_norm import rms_norm_backward, rms_norm_forward
from .embeddings.segment import segment_embedding_backward, segment_embedding_forward
from .embeddings.sinusoidal import sinusoidal_backward, sinusoidal_forward
from .embeddings.sinusoidal_2d import sinusoidal_2d_backward, sinusoidal_2d_forward
from .embeddings.tied_head import tied_head_backward, tied_head_forward
from .embeddings.timestep import timestep_embedding_backward, timestep_embedding_forward
from .embeddings.token import token_embedding_backward, token_embedding_forward
from .embeddings.transformer import transformer_embedding_backward, transformer_embedding_forward
from .errors import require, require_one_of
from .namespace import Array, array_namespace
from .rotary.angles import rope_angles_backward, rope_angles_forward
from .rotary.axial import axial_cos_sin, axial_rope_backward, axial_rope_forward
from .rotary.embedding import rotary_embedding_backward, rotary_embedding_forward
from .rotary.frequencies import (
    dynamic_ntk_frequencies,
    linear_frequencies,
    ntk_frequencies,
    proportional_frequencies,
    rope_frequencies,
)
from .rotary.frequencies_by_parts import llama3_frequencies, ntk_by_parts_frequencies
from .rotary.frequencies_longrope import longrope_frequencies
from .rotary.frequencies_yarn import yarn_attention_factor, yarn_frequencies
from .rotary.mixed import mixed_angles_backward, mixed_angles_forward
from .rotary.mla import mla_rope_backward, mla_rope_forward
from .rotary.mrope import mrope_cos_sin
from .rotary.partial import partial_rope_backward, partial_rope_forward
from .rotary.permute import permute_pairs_backward, permute_pairs_forward
from .rotary.rope import rope_backward, rope_cos_sin, rope_forward
from .rotary.temperature import query_temperature_backward, query_temperature_forward
from .rotary.xpos import xpos_backward, xpos_forward


class Op(NamedTuple):
    """One op: a pair of pure functions and the names of what goes in and out."""

    forward: Callable[..., Any]
    backward: Callable[..., Any] | None  # None: a table, with no gradient
    arrays: tuple[str, ...]  # array arguments, in the order of the signature
    gradients: tuple[str, ...] = ()  # those with a gradient, in the order in which backward returns them
    outputs: tuple[str, ...] = ("y",)


def _op(forward: Any, backward: Any, arrays: str, gradients: str = "", outputs: str = "y") -> Op:
    return Op(forward, backward, tuple(arrays.split()), tuple(gradients.split()), tuple(outputs.split()))


_MULTI_HEAD = "x w_q w_k w_v w_o b_q b_k b_v b_o context cos sin bias sink"
_MLA = "q latent k_rope norm_weight w_uk w_uv cos sin"
_BERT = "weight segment_weight position_weight norm_weight norm_bias"
_DECODE = "q k v k_cache v_cache bias sink"
_MLA_ROPE = "q_nope q_pe k_nope k_pe cos sin"

# fmt: off
OPS: dict[str, Op] = {
    # door 1: added to the embeddings
    "token_embedding": _op(token_embedding_forward, token_embedding_backward, "ids weight", "weight"),
    "renorm_table": _op(renorm_table, None, "ids weight"),
    "tied_head": _op(tied_head_forward, tied_head_backward, "h weight bias", "h weight bias"),
    "segment_embedding": _op(segment_embedding_forward, segment_embedding_backward, "segments weight", "weight"),
    "positions_from_offset": _op(positions_from_offset, None, ""),
    "positions_from_padding": _op(positions_from_padding, None, "mask"),
    "positions_in_documents": _op(positions_in_documents, None, "documents"),
    "learned_position": _op(learned_position_forward, learned_position_backward, "positions weight", "weight"),
    "interpolate_positions": _op(interpolate_positions_forward, interpolate_positions_backward, "weight", "weight"),
    "sinusoidal": _op(sinusoidal_forward, sinusoidal_backward, "positions", "positions"),
    "relative_shift_matrix": _op(relative_shift_matrix, None, "shift"),
    "sinusoidal_2d": _op(sinusoidal_2d_forward, sinusoidal_2d_backward, "positions", "positions"),
    "timestep_embedding": _op(timestep_embedding_forward, timestep_embedding_backward, "timesteps", "timesteps"),
    "cape": _op(cape_forward, cape_backward, "positions global_shift local_shift log_scale", "positions global_shift local_shift log_scale"),
    "dropout": _op(dropout_forward, dropout_backward, "x keep", "x"),
    "layer_norm": _op(layer_norm_forward, layer_norm_backward, "x weight bias", "x weight bias"),
    "rms_norm": _op(rms_norm_forward, rms_norm_backward, "x weight", "x weight"),
    "transformer_embedding": _op(transformer_embedding_forward, transformer_embedding_backward, "ids weight position_weight keep", "weight position_weight"),
    "bert_embedding": _op(bert_embedding_forward, bert_embedding_backward, f"ids segments {_BERT} positions keep", _BERT),
    # door 2: turns q and k
    "rope_frequencies": _op(rope_frequencies, None, ""),
    "linear_frequencies": _op(linear_frequencies, None, ""),
    "ntk_frequencies": _op(ntk_frequencies, None, ""),
    "dynamic_ntk_frequencies": _op(dynamic_ntk_frequencies, None, ""),
    "ntk_by_parts_frequencies": _op(ntk_by_parts_frequencies, None, ""),
    "llama3_frequencies": _op(llama3_frequencies, None, ""),
    "yarn_frequencies": _op(yarn_frequencies, None, "", outputs="frequencies attention_factor"),
    "yarn_attention_factor": _op(yarn_attention_factor, None, ""),
    "longrope_frequencies": _op(longrope_frequencies, None, "short_factors long_factors", outputs="frequencies attention_factor"),
    "proportional_frequencies": _op(proportional_frequencies, None, ""),
    "rope_angles": _op(rope_angles_forward, rope_angles_backward, "positions frequencies attention_factor", "positions frequencies attention_factor", "cos sin"),
    "rope_cos_sin": _op(rope_cos_sin, None, "positions", outputs="cos sin"),
    "mrope_cos_sin": _op(mrope_cos_sin, None, "positions", outputs="cos sin"),
    "axial_cos_sin": _op(axial_cos_sin, None, "positions", outputs="cos sin"),
    "mixed_angles": _op(mixed_angles_forward, mixed_angles_backward, "positions frequencies", "positions frequencies", "cos sin"),
    "rope": _op(rope_forward, rope_backward, "x cos sin", "x cos sin"),
    "partial_rope": _op(partial_rope_forward, partial_rope_backward, "x cos sin", "x cos sin"),
    "rotary_embedding": _op(rotary_embedding_forward, rotary_embedding_backward, "x frequencies attention_factor positions", "x frequencies attention_factor"),
    "axial_rope": _op(axial_rope_forward, axial_rope_backward, "x positions", "x"),
    "xpos": _op(xpos_forward, xpos_backward, "x positions", "x"),
    "mla_rope": _op(mla_rope_forward, mla_rope_backward, _MLA_ROPE, _MLA_ROPE, "q k"),
    "permute_pairs": _op(permute_pairs_forward, permute_pairs_backward, "weight", "weight"),
    "query_temperature": _op(query_temperature_forward, query_temperature_backward, "x positions", "x"),
    # door 3: joins the logits
    "alibi_slopes": _op(alibi_slopes, None, ""),
    "alibi": _op(alibi_forward, alibi_backward, "slopes", "slopes"),
    "t5_buckets": _op(t5_buckets, None, "relative"),
    "t5_bias": _op(t5_bias_forward, t5_bias_backward, "weight", "weight"),
    "kerple_log": _op(kerple_log_forward, kerple_log_backward, "a p", "a p"),
    "kerple_power": _op(kerple_power_forward, kerple_power_backward, "a p", "a p"),
    "fire": _op(fire_forward, fire_backward, "w1 b1 w2 b2 c m L0", "w1 b1 w2 b2 c m L0"),
    "sandwich": _op(sandwich, None, ""),
    "swin_bias": _op(swin_bias_forward, swin_bias_backward, "weight", "weight"),
    "swin_v2_bias": _op(swin_v2_bias_forward, swin_v2_bias_backward, "w1 b1 w2", "w1 b1 w2"),
    "decomposed_2d_bias": _op(decomposed_2d_bias_forward, decomposed_2d_bias_backward, "q table_h table_w", "q table_h table_w"),
    "shaw_keys": _op(shaw_keys_forward, shaw_keys_backward, "q table", "q table"),
    "shaw_values": _op(shaw_values_forward, shaw_values_backward, "weights v table", "weights v table"),
    "transformer_xl_bias": _op(transformer_xl_bias_forward, transformer_xl_bias_backward, "q k r w_r u v", "q k r w_r u v"),
    "deberta_bias": _op(deberta_bias_forward, deberta_bias_backward, "q k key_table query_table", "q k key_table query_table"),
    "cope": _op(cope_forward, cope_backward, "q k table", "q k table"),
    "fox": _op(fox_forward, fox_backward, "gate_logits", "gate_logits"),
    # where the doors open
    "causal_mask": _op(causal_mask, None, ""),
    "window_mask": _op(window_mask, None, ""),
    "chunked_mask": _op(chunked_mask, None, ""),
    "prefix_mask": _op(prefix_mask, None, ""),
    "padding_mask": _op(padding_mask, None, "lengths"),
    "document_mask": _op(document_mask, None, "q_documents k_documents"),
    "linear": _op(linear_forward, linear_backward, "x weight bias", "x weight bias"),
    "softmax": _op(softmax_forward, softmax_backward, "x mask", "x"),
    "softmax_sink": _op(softmax_sink_forward, softmax_sink_backward, "x sink mask", "x sink"),
    "softcap": _op(softcap_forward, softcap_backward, "x", "x"),
    "attention": _op(attention_forward, attention_backward, "q k v bias sink mask keep", "q k v bias sink", "y lse"),
    "multi_head_attention": _op(multi_head_attention_forward, multi_head_attention_backward, _MULTI_HEAD + " mask keep", _MULTI_HEAD),
    "rms_qk_norm": _op(rms_qk_norm_forward, rms_qk_norm_backward, "x weight", "x weight"),
    "l2_qk_norm": _op(l2_qk_norm_forward, l2_qk_norm_backward, "x logit_scale", "x logit_scale"),
    "attention_decode": _op(attention_decode_forward, attention_decode_backward, _DECODE + " mask", _DECODE, "y lse k_cache v_cache"),
    "blocked_attention": _op(blocked_attention_forward, blocked_attention_backward, "q k v bias mask", "q k v bias", "y lse"),
    "merge_blocks": _op(merge_blocks_forward, merge_blocks_backward, "y1 lse1 y2 lse2", "y1 lse1 y2 lse2", "y lse"),
    "mla_attention": _op(mla_attention_forward, mla_attention_backward, _MLA + " mask", _MLA, "y lse"),
}
# fmt: on


def run(
    op: str | Op, params: Mapping[str, Any], inputs: Mapping[str, Array], want: Sequence[str], *, xp: Any = None
) -> dict[str, Array]:
    """Run an op by name on named arrays, forward and where asked backward.

    inputs: the op's arrays by name (absent ones left out), and cotangents as "cot.y", "cot.lse"; an absent cotangent is
    zero. want: names out of the op's outputs, "grad.<input>" and "mid.<residual>". The result holds just these names.
    xp: used only where `inputs` holds no array; default NumPy. A table that no float array decides the dtype of takes
    params["dtype"], "float32" or "float64" (default).
    Raises ValueError for an unknown op, input, parameter or wanted name.
    """
    if isinstance(op, str):
        require_one_of("op", op, list(OPS))
        op = OPS[op]
    xp = xp or (array_namespace(*inputs.values()) if inputs else numpy)
    options = _options(op, params, inputs, xp)
    result = op.forward(**{name: inputs[name] for name in op.arrays if name in inputs}, **options)
    y, residuals = result if op.backward else (result, None)
    found = dict(zip(op.outputs, y if len(op.outputs) > 1 else (y,), strict=True))
    found |= {f"mid.{name}": value for name, value in getattr(residuals, "_asdict", dict)().items()}
    if any(name.startswith("grad.") for name in want):
        found |= _gradients(op, y, residuals, [inputs.get(f"cot.{name}") for name in op.outputs])
    for name in want:
        require_one_of("want", name, [name for name, value in found.items() if value is not None])
    return {name: found[name] for name in want}


def _options(op: Op, params: Mapping[str, Any], inputs: Mapping[str, Array], xp: Any) -> dict[str, Any]:
    """Check all names, and return the keyword options, with dtype and xp where the op asks for them."""
    accepted = inspect.signature(op.forward).parameters
    needed = [name for name, parameter in accepted.items() if parameter.default is parameter.empty]
    for name in inputs:
        require_one_of("inputs", name, [*op.arrays, *(f"cot.{name}" for name in op.outputs if op.backward)])
    options = dict(params)
    if "xp" in accepted:
        options["xp"] = xp
    if "dtype" in accepted:
        options["dtype"] = _dtype(op, params.get("dtype"), inputs, xp)
    for name in options:
        require_one_of("params", name, [name for name in accepted if name not in op.arrays])
    for name in needed:
        kind, given = ("inputs", inputs) if name in op.arrays else ("params", options)
        require(name in given, kind, f"no {name!r}", ", ".join(repr(name) for name in needed) + " and options")
    return options


def _gradients(op: Op, y: Any, residuals: Any, cotangents: list[Array | None]) -> dict[str, Array | None]:
    """Call backward in the form of the outputs, and name what it returns."""
    require(op.backward is not None, "want", "a gradient", f"{', '.join(op.outputs)} (this table has no gradient)")
    allowed = ", ".join(repr(f"cot.{name}") for name in op.outputs)
    require(any(dy is not None for dy in cotangents), "inputs", "no cotangent", allowed)
    gradients = op.backward(type(y)(*cotangents) if len(cotangents) > 1 else cotangents[0], residuals)  # type: ignore[misc]
    named = gradients if len(op.gradients) > 1 else (gradients,)
    return {f"grad.{name}": value for name, value in zip(op.gradients, named, strict=True)}


def _dtype(op: Op, name: str | None, inputs: Mapping[str, Array], xp: Any) -> Any:
    """Return the dtype of a table: the real array's where there is one, else the one that is named."""
    for array in (inputs[name] for name in op.arrays if name in inputs):
        if xp.isdtype(array.dtype, "real floating"):
            return array.dtype
    require_one_of('params["dtype"]', name or "float64", ("float32", "float64"))
    return getattr(xp, name or "float64")
