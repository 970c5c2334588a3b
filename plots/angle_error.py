"""How wrong an angle is, by position and precision

Largest error so far of cos and sin, over all pairs of a head of width 128. In float32 the angle p θ itself is rounded:
0.0001 at position 2,048, 0.05 at 1,048,576. Frequencies kept in 16 bits are worse 20,000 times: 0.61 at 512 in bf16,
0.49 at 2,048 in fp16. Positions in bf16 are exact up to 256, and then off by a whole token. Where transformers is
installed, its own table is drawn as circles: plain float32.

An error of 1 is a random angle. Two rotations joined (ours) instead of one stay at 10^-7 up to 4,096 in float32.
"""

from __future__ import annotations

from importlib import import_module

import numpy as np
from matplotlib.figure import Figure

from refimpl import rope_cos_sin, rope_frequencies
from refimpl.mistakes.mistake import round_bits

from . import style

FORMULA = "max over pairs of |cos(fl(p θ)) - cos(p θ)|, |sin ...|;   fl rounds p, θ or their product"
SOURCE = "transformers#29285, #29496; Modalities#462; refimpl/angles.py"
ALT = "Rising curves of errors over positions up to a million, both logarithmic; one stays flat up to 4,096."
D, P = 128, np.unique(np.concatenate([np.arange(1, 2049), np.geomspace(2049, 2**20, 200).astype(int)]))


def data() -> dict[str, np.ndarray]:
    """Return the largest error up to each of P, by way of forming angles."""
    theta, wide = (rope_frequencies(D, xp=np, dtype=dtype) for dtype in (np.float32, np.float64))
    p = P.astype(np.float32)[:, None]
    angles = {"bf16 positions": round_bits(p, 8) * theta, "bf16 θ": p * round_bits(theta, 8)}
    angles |= {"fp16 θ": p * round_bits(theta, 11), "float32": p * theta, "float64": P[:, None] * wide}
    tables = {name: np.stack([np.cos(a.astype(float)), np.sin(a.astype(float))]) for name, a in angles.items()}
    tables |= {"float32, ours": np.stack(rope_cos_sin(P, D, dtype=np.float32))} | frameworks()
    errors = {name: np.abs(table - np.stack(rope_cos_sin(P, D))) for name, table in tables.items()}
    return {name: np.maximum.accumulate(error.max((0, 2))) for name, error in errors.items()}


def frameworks() -> dict[str, np.ndarray]:
    """Return the cos and sin of what is installed, (2, P, D/2) each."""
    try:
        torch, llama = import_module("torch"), import_module("transformers.models.llama.modeling_llama")
    except ImportError:
        return {}
    table = llama.LlamaRotaryEmbedding(llama.LlamaConfig(hidden_size=D, num_attention_heads=1))
    return {"transformers": np.stack(table(torch.zeros(1), torch.tensor(P)[None]))[:, 0, :, : D // 2]}


@style.look
def figure() -> Figure:
    """Draw errors over positions, a framework's as marks."""
    fig, axes = style.panels(1, 1, 5.6)
    for (name, y), colour, dash in zip(data().items(), style.COLOURS, style.DASHES, strict=False):
        marks = {"marker": "o", "markevery": 0.05, "ls": "", "mfc": "none"} if name == "transformers" else {"ls": dash}
        axes[0, 0].plot(P, y, color=colour, label=name, **marks)
    axes[0, 0].set(xlabel="position", ylabel="largest error so far", xscale="log", yscale="log")
    axes[0, 0].legend(ncols=2)
    return fig
