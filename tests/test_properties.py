"""The measured properties against what the papers prove, and the measurements against encodings made to have none."""

import numpy as np
import pytest

from refimpl.fixtures.listing import PROPERTIES, properties
from refimpl.ops import OPS
from refimpl.properties import encodings, measure
from refimpl.properties.encodings import Encoding

FOUND = {name: measure(encoding) for name, encoding in encodings().items()}
ROPE = {name for name in FOUND if name.startswith("rope")}


def having(key: str) -> set[str]:
    return {name for name, found in FOUND.items() if getattr(found, key)}


def test_what_the_papers_say():
    assert having("absolute") == {"sinusoidal", "CAPE", "learned", "ALiBi, key-only", "FIRE"}
    assert set(FOUND) - having("endless") == {"learned"}
    assert having("keeps_norm") >= ROPE
    assert set(FOUND) - having("deterministic") == {"CAPE"}
    assert {name for name, found in FOUND.items() if found.cost == "T²"} == {n for n in FOUND if FOUND[n].door == 3}
    assert not {"xPos", "sinusoidal", "learned"} & having("keeps_norm")
    assert set(FOUND) - having("length_free") == {"rope, dynamic NTK", "rope, LongRoPE"}
    assert set(FOUND) - having("cache_consistent") == {"rope, dynamic NTK", "rope, LongRoPE", "xPos"}
    assert having("symmetric") == {"ALiBi", "KERPLE, log", "KERPLE, power", "Sandwich"}
    assert {"T5", "Shaw, keys", "DeBERTa", "CoPE"} == set(FOUND) - having("unambiguous")
    assert {"ALiBi", "KERPLE, log", "KERPLE, power", "FoX"} <= having("falling")
    assert set(FOUND) - having("bounded") == {"ALiBi", "ALiBi, key-only", "KERPLE, log", "KERPLE, power", "FoX"}
    assert {name for name, found in FOUND.items() if found.parameters} == {
        "learned", "ALiBi", "ALiBi, key-only", "T5", "KERPLE, log", "KERPLE, power", "FIRE", "Shaw, keys",
        "Transformer-XL", "DeBERTa", "CoPE", "FoX",
    }  # fmt: skip


def test_a_bias_without_any_of_them():
    """Noise for a bias: absolute, asymmetric, not falling; and a constant one: everything looks the same."""
    noise = np.random.default_rng(1).standard_normal((400, 400))
    found = measure(
        Encoding("alibi", 3, bias=lambda q, k, T, S, first, length: noise[:T, :S] if S < 400 else 0.0 * q[:, :1])
    )
    assert (found.absolute, found.symmetric, found.falling) == (True, False, False)
    found = measure(Encoding("alibi", 3, bias=lambda q, k, T, S, first, length: np.zeros((T, S))))
    assert (found.absolute, found.symmetric, found.unambiguous, found.falling) == (False, True, False, False)


def test_listed_for_every_encoding_or_those_of_an_op():
    rows = properties()
    assert rows[0] == ("encoding", *PROPERTIES.values())
    assert len(rows) == len(FOUND) + 1
    assert [row[0] for row in properties(["alibi"])[1:]] == ["ALiBi", "ALiBi, key-only"]
    assert all(encoding.op in OPS for encoding in encodings().values())


@pytest.mark.parametrize("name", sorted(FOUND))
def test_door_is_the_folder(name):
    encoding = encodings()[name]
    folder = OPS[encoding.op].forward.__module__.split(".")[1]
    assert {"embeddings": 1, "rotary": 2, "bias": 3}[folder] == FOUND[name].door
