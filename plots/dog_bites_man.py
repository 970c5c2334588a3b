"""Who bit whom? What attention makes of two sentences with the same words

How far the output of each word moves from "the dog bit the man" to "the man bit the dog". Without positions not at
all: each word gets the same vector in both. A causal mask alone moves all but the first word, which sees itself only.
Each encoding moves all five, some little: what comes next can tell the biter from the bitten.

Attention is equivariant, not invariant: permuted words give permuted outputs, so their order is lost and nothing else.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from refimpl import alibi_forward, attention_forward, rope_cos_sin, rope_forward, sinusoidal_forward

from . import style, words

FORMULA = "|y(word in the second) - y(word in the first)|,   y = softmax(q kᵀ / √D + bias) v"
SOURCE = "Vaswani et al. 2017; Lee et al. 2019 (Set Transformer), property 1; word vectors: plots/words.py"
ALT = "Five groups of five bars: none for no position, high for dog and man with a causal mask, some for each encoding."
FIRST, SECOND = "the dog bit the man", "the man bit the dog"
ORDER = [0, 4, 2, 3, 1]  # where the words of the second stand in the first


def data() -> dict[str, np.ndarray]:
    """Return the distance of each word of SECOND, (5,), by encoding."""
    pe, _ = sinusoidal_forward(np.arange(5), words.C)
    bias, _ = alibi_forward(np.array([0.5]), T=5, S=5)
    return {name: _moved(name, pe, bias) for name in ("no position", "causal mask", "sinusoidal", "RoPE", "ALiBi")}


def _moved(name: str, pe: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Attend to both sentences, and compare the outputs of each word."""
    outputs = []
    for sentence in (FIRST, SECOND):
        x = words.vectors(sentence)
        v = x + pe if name == "sinusoidal" else x
        q = rope_forward(x, *rope_cos_sin(np.arange(5), words.C))[0] if name == "RoPE" else v
        options = (bias if name == "ALiBi" else None), (0 if name == "causal mask" else None)
        (y, _), _ = attention_forward(q[None], q[None], v[None], options[0], q_offset=options[1])
        outputs.append(np.asarray(y)[0])
    return np.linalg.norm(outputs[1] - outputs[0][ORDER], axis=-1)


@style.look
def figure() -> Figure:
    """Draw a group of bars a way."""
    fig, axes = style.panels(1, 1, 4.2)
    for i, (word, colour) in enumerate(zip(SECOND.split(), style.COLOURS, strict=False)):
        heights = [moved[i] for moved in data().values()]
        axes[0, 0].bar(np.arange(5) + 0.16 * (i - 2), heights, 0.15, color=colour, label=f"{i + 1} {word}")
    axes[0, 0].set(ylabel="distance of the outputs", xlabel="how positions come in")
    axes[0, 0].set_xticks(range(5), list(data()))
    fig.legend(loc="outside upper center", ncols=5)
    return fig
