"""Bad input to any op: a sentence that begins with the argument, or a result of the right shape; nothing else."""

import inspect
from typing import Any

import numpy as np
import pytest

import refimpl as r
from refimpl.ops import OPS
from tests.bad_input import BLAMED, OUT_OF_RANGE, WRONG_TYPE, Valid, forward, parts, valid, wrong_kinds, wrong_shapes

WITH_BACKWARD = [name for name, op in OPS.items() if op.backward]


def refusal(call: Any) -> str:
    """Return the argument that a call blames; anything but a ValueError of the agreed form fails."""
    with pytest.raises(ValueError, match=r"^[^:]+: got .*; allowed: ") as caught:
        call()
    return str(caught.value).partition(": got ")[0]


@pytest.mark.parametrize("name", OPS)
def test_what_is_no_array_of_its_kind_is_refused(name):
    call = valid(name)
    required = inspect.signature(OPS[name].forward).parameters
    for array, value in call.arrays.items():
        none = [None] if required[array].default is inspect.Parameter.empty else []
        for wrong in [*none, *wrong_kinds(value)]:
            changed = Valid(call.arrays | {array: wrong}, call.options)
            if takes_integers(name, array) and getattr(wrong, "dtype", None) in (np.int64, np.float64):
                forward(name, changed)
            else:
                assert refusal(lambda changed=changed: forward(name, changed)) == array, wrong


def takes_integers(op: str, array: str) -> bool:
    """Return whether integers may stand for reals: positions and moments only."""
    return "Real" in str(inspect.signature(OPS[op].forward).parameters[array].annotation)


@pytest.mark.parametrize("name", OPS)
def test_a_second_dtype_of_reals_is_refused(name):
    call = valid(name)
    real = [array for array, value in call.arrays.items() if value.dtype.kind == "f"]
    for array in real if len(real) > 1 else []:
        changed = Valid(call.arrays | {array: call.arrays[array].astype(np.float32)}, call.options)
        assert refusal(lambda changed=changed: forward(name, changed)) in real


@pytest.mark.parametrize("name", OPS)
def test_a_shape_fits_or_is_refused(name):
    """A shape may be legal for this op: then every gradient has the shape of its input."""
    call, op = valid(name), OPS[name]
    parameters = inspect.signature(op.forward).parameters
    for array, value in call.arrays.items():
        for wrong in wrong_shapes(value):
            changed = Valid(call.arrays | {array: wrong}, call.options)
            result = outcome(name, changed)
            if isinstance(result, str):
                assert result.partition(": got ")[0] in parameters, (array, wrong.shape, result)
            elif op.backward:
                gradients = op.backward(ones(result[0]), result[1])
                named = gradients if len(op.gradients) > 1 else (gradients,)
                for input, gradient in zip(op.gradients, named, strict=True):
                    assert gradient is None or gradient.shape == changed.arrays[input].shape, (array, wrong.shape)


def outcome(name: str, call: Valid) -> Any:
    """Return what a forward pass does, or the sentence with which it refuses."""
    try:
        return forward(name, call)
    except ValueError as error:
        return str(error)


def ones(y: Any) -> Any:
    return type(y)(*map(np.ones_like, y)) if hasattr(y, "_fields") else np.ones_like(y)


@pytest.mark.parametrize("name", OPS)
def test_an_option_of_another_type_is_refused(name):
    call = valid(name)
    for option, parameter in inspect.signature(OPS[name].forward).parameters.items():
        if option in OPS[name].arrays or option == "device":
            continue
        kind, _, optional = str(parameter.annotation).partition(" | ")
        for wrong in WRONG_TYPE[option if kind == "Any" else kind]:
            if wrong is None and optional:
                continue
            changed = Valid(call.arrays, call.options | {option: wrong})
            blamed = refusal(lambda changed=changed: forward(name, changed))
            assert blamed.partition("[")[0] == option, wrong


@pytest.mark.parametrize("name", OPS)
def test_an_option_out_of_its_range_is_refused(name):
    call = valid(name)
    for option, parameter in inspect.signature(OPS[name].forward).parameters.items():
        if option in OPS[name].arrays or str(parameter.annotation).partition(" | ")[0] not in ("int", "float"):
            continue
        for wrong in OUT_OF_RANGE.get(f"{name}.{option}", OUT_OF_RANGE[option]):
            changed = Valid(call.arrays, call.options | {option: wrong})
            blamed = refusal(lambda changed=changed: forward(name, changed))
            assert BLAMED.get(option, option) in blamed.split(" + "), wrong


@pytest.mark.parametrize("name", WITH_BACKWARD)
def test_a_wrong_cotangent_is_refused(name):
    y, residuals = forward(name, valid(name))
    several, backward = hasattr(y, "_fields"), OPS[name].backward
    for part, value in parts(name, y).items():
        value = np.asarray(value)
        none = [] if several else [None]
        float32 = [np.ones(value.shape, np.float32)] if keeps_reals(residuals) else []
        for wrong in [*none, *wrong_kinds(value), *float32, *wrong_shapes(value), np.float64(1)]:
            if np.shape(wrong) == value.shape and getattr(wrong, "dtype", None) == np.float64:
                continue
            dy = y._replace(**{part.partition(".")[2]: wrong}) if several else wrong
            blamed = refusal(lambda dy=dy: backward(dy, residuals))
            assert blamed == part or (several and blamed.startswith("dy.")), wrong  # one fits, the other does not
    if several:
        for wrong in (type(y)(*[None] * len(y)), tuple(y), y[0], None):
            assert refusal(lambda wrong=wrong: backward(wrong, residuals)) == "dy"


def keeps_reals(residuals: Any) -> bool:
    """Return whether the residuals themselves say what the dtype of the forward pass was."""
    return any(getattr(value, "dtype", None) == np.float64 for value in residuals)


@pytest.mark.parametrize("name", WITH_BACKWARD)
def test_residuals_of_something_else_are_refused(name):
    y, residuals = forward(name, valid(name))
    for wrong in (None, tuple(residuals), y):
        assert refusal(lambda wrong=wrong: OPS[name].backward(y, wrong)) == "residuals"


def test_numbers_of_numpy_are_numbers():
    x = np.arange(6.0)
    np.testing.assert_array_equal(r.softcap_forward(x, cap=np.float32(2))[0], r.softcap_forward(x, cap=2.0)[0])
    far = {"N": 32, "max_distance": 2**20, "bidirectional": False}
    small = {name: np.int32(value) if name != "bidirectional" else value for name, value in far.items()}
    relative = -np.arange(0, 2**20, 12345)  # its buckets compare integers of 320 bits
    np.testing.assert_array_equal(r.t5_buckets(relative, **small), r.t5_buckets(relative, **far))


def test_arrays_of_two_libraries_are_refused():
    xp = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    with pytest.raises(ValueError, match=r"^k: got an array of array_api_strict; allowed: .*numpy, as q is"):
        r.attention_forward(np.ones((2, 3, 4)), xp.ones((2, 5, 4)), xp.ones((2, 5, 4)))


Q, CACHE = np.arange(24.0).reshape(1, 2, 3, 4), np.ones((1, 2, 5, 4))
COS, SIN = r.rope_cos_sin(np.arange(3), 4)


@pytest.mark.parametrize(
    ("call", "shape"),
    [
        (lambda: r.token_embedding_forward(np.ones((2, 0), int), np.ones((3, 5)))[0], (2, 0, 5)),
        (lambda: r.sinusoidal_forward(np.arange(0), 4)[0], (0, 4)),
        (lambda: r.rope_cos_sin(np.arange(0), 4).cos, (0, 2)),
        (lambda: r.rope_forward(Q[..., :0, :], COS[:0], SIN[:0])[0], (1, 2, 0, 4)),
        (lambda: r.softmax_forward(Q[:0])[0], (0, 2, 3, 4)),
        (lambda: r.attention_forward(Q[..., :0, :], Q, Q, q_offset=3)[0].y, (1, 2, 0, 4)),
        (lambda: r.attention_forward(Q[:0], Q[:0], Q[:0], q_offset=0)[0].lse, (0, 2, 3)),
        (lambda: r.attention_decode_forward(Q, Q, Q, CACHE[..., :0, :], CACHE[..., :0, :])[0].y, (1, 2, 3, 4)),
        (lambda: r.attention_decode_forward(*[Q[..., :0, :]] * 3, CACHE, CACHE)[0].k_cache, (1, 2, 5, 4)),
        (lambda: r.causal_mask(0, 3, q_offset=3, xp=np), (0, 3)),
        (lambda: r.padding_mask(np.ones(0, int), S=3), (0, 1, 1, 3)),
        (lambda: r.alibi_forward(np.ones(2), T=0, S=3)[0], (2, 0, 3)),
        (lambda: r.t5_bias_forward(np.ones((32, 2)), T=0, S=3)[0], (2, 0, 3)),
    ],
)
def test_no_tokens_and_no_sequences_give_an_empty_result(call, shape):
    assert call().shape == shape


def test_no_queries_give_keys_no_gradient():
    y, residuals = r.attention_forward(Q[..., :0, :], Q, Q)
    _, dk, dv, _, _ = r.attention_backward(y, residuals)
    assert not dk.any()
    assert not dv.any()
    assert dk.shape == dv.shape == Q.shape
