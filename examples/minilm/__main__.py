"""Run a trained BERT on refimpl's ops and hold every op against transformers, forward and backward.

    make peers && .venv/bin/python -m examples.minilm          (a minute or two)

Each op gets what transformers had computed before it. A budget is an error over the tolerance derived for float32:
above 1, no rounding gets there.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from refimpl import padding_mask

from .judge import Step, judge
from .model import Model, converted, encode, load, tokenize
from .recorded import Recorded, load_theirs, record, torch
from .steps import embedding_step, layer_steps, one_piece

SENTENCES = ("The dog bites the man.", "The man bites the dog, by the way.")


def main() -> None:
    model, theirs = load(), load_theirs()
    ids, lengths = tokenize(SENTENCES)
    keep = padding_mask(lengths, S=ids.shape[1])  # (B, 1, 1, T)
    seen = record(theirs, ids, keep[:, 0, 0])
    print("budgets of transformers, the worst element of output and gradients:")
    show("", [embedding_step(model, seen, ids)])
    for number, layer in enumerate(model.layers):
        show(f"layer {number + 1}", list(layer_steps(layer, seen, number, keep)))
    show("layer 1", [one_piece(model.layers[0], seen, 0, keep)])
    print("\nlargest error end to end, against the same run in float64:")
    for number, (their, our) in enumerate(growth(model, seen, ids, keep)):
        print(f"{f'layer {number}' if number else 'embedding':12} transformers {their:.1e}   refimpl {our:.1e}")
    print(f"\nrefimpl on NumPy takes {time_ratio(model, theirs, ids, keep):.2f} × the time of transformers")


def show(title: str, steps: list[Step]) -> None:
    """Print the budgets of transformers, the worst of refimpl, and how large the tolerances are."""
    judged = [judge(step) for step in steps]
    print(
        f"{title:9}" + ", ".join(f"{step.what} {found.theirs:.2g}" for step, found in zip(steps, judged, strict=True))
    )
    sharpness = sorted(found.tolerance for found in judged)
    print(f"{'':9}refimpl at most {max(found.ours for found in judged):.2g};", end=" ")
    print(f"tolerance over y: {sharpness[0]:.0e} to {sharpness[-1]:.0e}", flush=True)


def growth(model: Model, seen: Recorded, ids: np.ndarray, keep: np.ndarray) -> list[tuple[float, float]]:
    """Return the largest errors of both after the embedding and after each layer, each on its own states."""
    precise = encode(ids, keep, converted(model, lambda array: array.astype(np.float64)))
    names = ["embeddings", *(f"encoder.layer.{n}" for n in range(len(model.layers)))]
    both = zip(precise, (seen.outputs[name] for name in names), encode(ids, keep, model), strict=True)
    return [(float(abs(their - state).max()), float(abs(our - state).max())) for state, their, our in both]


def time_ratio(model: Model, theirs: Any, ids: np.ndarray, keep: np.ndarray, repeats: int = 21) -> float:
    """Return the time of refimpl's forward pass over that of transformers: medians of runs that take turns."""
    given = {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(keep[:, 0, 0]).long()}
    with torch.no_grad():
        pairs = [
            (_seconds(lambda: encode(ids, keep, model)), _seconds(lambda: theirs(**given))) for _ in range(repeats)
        ]
    ours, their = (statistics.median(times) for times in zip(*pairs, strict=True))
    return ours / their


def _seconds(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
