"""Every figure, drawn once, and what it shows."""

from functools import cache
from typing import Any

import numpy as np

from plots.gallery import Entry, entry


@cache
def drawn(name: str) -> tuple[Entry, Any]:
    """Return what a script says, and its figure."""
    item = entry(name)
    return item, item.figure()


def images(name: str) -> list[np.ndarray]:
    """Return the matrices that a figure shows, in the order of its panels."""
    return [np.asarray(image.get_array()) for axes in drawn(name)[1].axes for image in axes.images]


def lines(name: str, panel: int = 0) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return x and y of each line of a panel."""
    return [(np.asarray(line.get_xdata()), np.asarray(line.get_ydata())) for line in drawn(name)[1].axes[panel].lines]


def texts(name: str, panel: int = 0) -> list[str]:
    """Return what is written into a panel."""
    return [text.get_text().replace("−", "-") for text in drawn(name)[1].axes[panel].texts]


def says(name: str, *words: str) -> bool:
    """Say whether the caption quotes all these words."""
    item = drawn(name)[0]
    return all(word in item.see + item.why for word in words)
