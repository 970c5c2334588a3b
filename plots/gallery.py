"""The order of the gallery, and what a script says about its figure."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

CHAPTERS: dict[str, tuple[str, ...]] = {
    "The way of a token": ("token_way", "three_doors"),
    "Door 1: added to the embeddings": (
        "embedding_scale",
        "position_rules",
        "sinusoidal_heatmap",
        "sinusoidal_wavelengths",
        "binary_counter",
        "sinusoidal_product",
        "sinusoidal_shift",
        "sinusoidal_layouts",
        "learned_rows",
        "learned_resize",
    ),
    "Door 2: turns queries and keys": (
        "rope_circles",
        "rope_relative",
        "rope_pairings",
        "rope_partial",
        "rope_decay",
        "rope_interpolation",
        "rope_rules",
        "rope_rules_angles",
        "rope_dynamic_cache",
        "score_temperature",
        "xpos_decay",
        "mrope_axes",
        "axial_grid",
        "axial_layouts",
    ),
    "Door 3: joins the logits": (
        "alibi_slopes",
        "alibi_matrices",
        "t5_buckets",
        "distance_curves",
        "fire_position",
        "swin_v2_offsets",
        "cope_text",
        "fox_text",
        "same_sentence",
        "beyond_trained",
    ),
    "Attention and masks": (
        "dog_bites_man",
        "score_scale",
        "mask_corners",
        "mask_kinds",
        "cache_offset",
        "head_sharing",
        "sink_softcap",
        "online_softmax",
    ),
    "Precision": ("angle_error", "attention_error"),
    "Gradients": ("gradient_doors",),
}
NAMES = tuple(name for names in CHAPTERS.values() for name in names)


class Entry(NamedTuple):
    """One figure: its texts, all plain, and how it is drawn."""

    name: str
    title: str
    see: str  # what to see
    why: str  # why it matters
    formula: str
    source: str
    alt: str  # what the picture is, for those who do not see it
    figure: Callable[[], Any]  # -> matplotlib.figure.Figure


def entry(name: str) -> Entry:
    """Load a script; its docstring is a title, what to see, and why it matters, with empty lines between."""
    script = importlib.import_module(f".{name}", __package__)
    title, see, why = (" ".join(part.split()) for part in inspect.getdoc(script).split("\n\n"))  # type: ignore[union-attr]
    return Entry(name, title, see, why, script.FORMULA, script.SOURCE, script.ALT, script.figure)
