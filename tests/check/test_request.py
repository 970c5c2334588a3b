"""What an implementation is given."""

import ml_dtypes
import numpy as np
import pytest

from refimpl.check.request import request
from refimpl.fixtures.read import LoadedCase

Loaded = dict[str, LoadedCase]


@pytest.mark.parametrize(
    ("profile", "dtype"), [("f64", np.float64), ("f32", np.float32), ("bf16", ml_dtypes.bfloat16), ("f16", np.float16)]
)
def test_reals_come_in_the_dtype_of_the_profile(loaded: Loaded, profile: str, dtype: type) -> None:
    asked = request(loaded["softmax/masked_row"], profile)
    found = {name: x.dtype for name, x in asked.inputs.items()}
    assert found == {"x": np.dtype(dtype), "mask": np.dtype(bool), "cot.y": np.dtype(dtype)}
    assert "dtype" not in asked.params


def test_no_input_is_rounded(loaded: Loaded) -> None:
    for case in loaded.values():
        for profile in case.profiles:
            for name, x in request(case, profile).inputs.items():
                assert np.array_equal(x.astype(np.float64), case.arguments[name].astype(np.float64))


def test_positions_stay_wide_in_16_bits_and_the_dtype_is_named(loaded: Loaded) -> None:
    asked = request(loaded["sinusoidal/fractional"], "bf16")
    assert asked.inputs["positions"].dtype == np.float32
    assert asked.inputs["cot.y"].dtype == ml_dtypes.bfloat16
    assert asked.params["dtype"] == "bfloat16"
    assert request(loaded["sinusoidal/fractional"], "f64").inputs["positions"].dtype == np.float64


def test_a_table_made_of_nothing_is_told_its_dtype(loaded: Loaded) -> None:
    asked = request(loaded["alibi_slopes/six_heads"], "f16")
    assert (asked.inputs, asked.params) == ({}, {"H": 6, "dtype": "float16"})
    assert "dtype" not in loaded["alibi_slopes/six_heads"].params


def test_integers_and_names_are_those_of_the_op(loaded: Loaded) -> None:
    asked = request(loaded["token_embedding/repeated_ids"], "bf16")
    assert asked.inputs["ids"].dtype == np.int64
    assert asked.want == ["y", "grad.weight"]
    assert request(loaded["attention/gqa_6_2"], "f32").want == ["y", "lse", "grad.q", "grad.k", "grad.v"]


def test_every_request_is_a_new_copy(loaded: Loaded) -> None:
    case = loaded["rope/interleaved"]
    request(case, "f32").inputs["x"][...] = 0
    request(case, "f32").params["interleaved"] = None
    assert request(case, "f32").inputs["x"].all()
    assert "interleaved" not in request(case, "f32").params
