"""One look for all figures: sizes that can be read at half size, colours that everybody can tell apart."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Circle

WIDTH = 7.2  # inches, of every figure; 1296 pixels at DPI
DPI = 180
FONT, SMALL = 12.0, 10.0  # points; nothing is smaller than SMALL

# Okabe and Ito 2008, told apart with every kind of colour vision; yellow is too pale for lines on white
BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
)
COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK)
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)), (0, (8, 2)))  # never colour alone
GREY = "#767676"
SEQUENTIAL = "cividis"
DIVERGING = "RdBu_r"  # centred at 0: blue below, white, red above

LOOK: dict[str, Any] = {
    "font.size": FONT,
    "axes.titlesize": FONT,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": FONT,
    "xtick.labelsize": SMALL + 0.5,
    "ytick.labelsize": SMALL + 0.5,
    "legend.fontsize": SMALL,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "grid.color": "#dddddd",
    "lines.linewidth": 2.0,
    "image.interpolation": "nearest",
    "figure.dpi": DPI,
    "savefig.dpi": "figure",
    "svg.hashsalt": "refimpl",
    "svg.fonttype": "path",
    "figure.constrained_layout.h_pad": 0.06,
    "figure.constrained_layout.w_pad": 0.06,
    "figure.labelsize": FONT,
}


def context() -> AbstractContextManager[None]:
    """Return a context in which everything is drawn alike, whatever the user's own settings are."""
    return matplotlib.style.context(["default", LOOK])


def look(draw: Callable[[], Figure]) -> Callable[[], Figure]:
    """Draw in the one look, and fix the layout, so that every file of the figure is the same."""

    @functools.wraps(draw)
    def drawn() -> Figure:
        with context():
            figure = draw()
            engine = figure.get_layout_engine()
            if engine is not None:
                engine.execute(figure)
            figure.set_layout_engine("none")
            return figure

    return drawn


def panels(rows: int, columns: int, height: float, **options: Any) -> tuple[Figure, Any]:
    """Return a figure of the one width and an array of its axes, (rows, columns)."""
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def heat(axes: Axes, z: np.ndarray, label: str | None, *, signed: bool = False, **options: Any) -> AxesImage:
    """Draw a matrix as colours, signed ones centred at 0, with a named colour bar unless `label` is None."""
    most = float(np.max(np.abs(z)))
    limits = {"cmap": DIVERGING, "vmin": -most, "vmax": most} if signed else {"cmap": SEQUENTIAL}
    image = axes.imshow(z, **{"aspect": "auto"} | limits | options)
    axes.spines[:].set_visible(False)
    if label is not None:
        bar(image, axes, label)
    return image


def bar(colours: Any, axes: Any, label: str, **options: Any) -> None:
    """Add a named colour bar beside one axes, or one for several."""
    found = np.ravel(axes)
    drawn = found[0].figure.colorbar(colours, ax=list(found), label=label, pad=0.02, **options)
    drawn.outline.set_visible(False)


def classes(axes: Axes, z: np.ndarray, colours: Sequence[str]) -> None:
    """Draw a matrix of small integers, each in its own colour."""
    axes.imshow(z, cmap=ListedColormap(list(colours)), vmin=-0.5, vmax=len(colours) - 0.5, aspect="auto")


def circle() -> Circle:
    """Return the unit circle as a thin line."""
    return Circle((0, 0), 1, fill=False, color=GREY, linewidth=1)


def numbers(axes: Axes, image: AxesImage, form: str = "{:.2f}", size: float = SMALL) -> None:
    """Write into every cell of a matrix its number, dark on light and light on dark."""
    z = np.asarray(image.get_array())
    for (row, column), value in np.ndenumerate(z):
        red, green, blue, _ = image.to_rgba(value)
        colour = "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"
        text = form.format(value).replace("-", "−")
        axes.text(column, row, text, ha="center", va="center", color=colour, fontsize=size, in_layout=False)
