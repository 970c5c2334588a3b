"""The table of all ops, in reading order, and the one way to run any of them by name.

To add an op: write its module behind one of the three doors, and its line here. Tests, fixtures and the checker follow.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from array_api_compat import numpy

from .attention.attention import attention_backward, attention_forward
from .attention.linear import linear_backward, linear_forward
from .attention.multi_head import multi_head_attention_backward, multi_head_attention_forward
from .attention.softmax import softmax_backward, softmax_forward
from .bias.alibi import alibi_backward, alibi_forward, alibi_slopes
from .embeddings.dropout import dropout_backward, dropout_forward
from .embeddings.learned import learned_position_backward, learned_position_forward
from .embeddings.sinusoidal import sinusoidal_backward, sinusoidal_forward
from .embeddings.token import token_embedding_backward, token_embedding_forward
from .embeddings.transformer import transformer_embedding_backward, transformer_embedding_forward
from .errors import require, require_one_of
from .namespace import Array, array_namespace
from .rotary.embedding import rotary_embedding_backward, rotary_embedding_forward
from .rotary.rope import rope_backward, rope_cos_sin, rope_forward


class Op(NamedTuple):
    """One op: a pair of pure functions and the names of what goes in and out."""

    forward: Callable[..., Any]
    backward: Callable[..., Any] | None  # None: a table, with no gradient
    arrays: tuple[str, ...]  # array arguments, in the order of the signature
    gradients: tuple[str, ...] = ()  # those with a gradient, in the order in which backward returns them
    outputs: tuple[str, ...] = ("y",)


def _op(forward: Any, backward: Any, arrays: str, gradients: str = "", outputs: str = "y") -> Op:
    return Op(forward, backward, tuple(arrays.split()), tuple(gradients.split()), tuple(outputs.split()))


_MULTI_HEAD = "x w_q w_k w_v w_o b_q b_k b_v b_o context cos sin bias"

# fmt: off
OPS: dict[str, Op] = {
    # door 1: added to the embeddings
    "token_embedding": _op(token_embedding_forward, token_embedding_backward, "ids weight", "weight"),
    "learned_position": _op(learned_position_forward, learned_position_backward, "positions weight", "weight"),
    "sinusoidal": _op(sinusoidal_forward, sinusoidal_backward, "positions", "positions"),
    "dropout": _op(dropout_forward, dropout_backward, "x keep", "x"),
    "transformer_embedding": _op(transformer_embedding_forward, transformer_embedding_backward, "ids weight position_weight keep", "weight position_weight"),
    # door 2: turns q and k
    "rope_cos_sin": _op(rope_cos_sin, None, "positions", outputs="cos sin"),
    "rope": _op(rope_forward, rope_backward, "x cos sin", "x cos sin"),
    "rotary_embedding": _op(rotary_embedding_forward, rotary_embedding_backward, "x positions", "x"),
    # door 3: joins the logits
    "alibi_slopes": _op(alibi_slopes, None, ""),
    "alibi": _op(alibi_forward, alibi_backward, "slopes", "slopes"),
    # where the doors open
    "linear": _op(linear_forward, linear_backward, "x weight bias", "x weight bias"),
    "softmax": _op(softmax_forward, softmax_backward, "x mask", "x"),
    "attention": _op(attention_forward, attention_backward, "q k v bias mask", "q k v bias", "y lse"),
    "multi_head_attention": _op(multi_head_attention_forward, multi_head_attention_backward, _MULTI_HEAD + " mask", _MULTI_HEAD),
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
