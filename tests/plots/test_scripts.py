"""What holds for every figure: short scripts that draw what refimpl returns, named axes, text that can be read."""

import ast
import itertools
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from plots import style
from plots.gallery import NAMES
from tests.plots.drawn import drawn

FOLDER = Path(style.__file__).parent
MACHINERY = {"__init__", "gallery", "page", "readme", "style", "words", "write"}
OPTIONAL = {"angle_error": {"importlib"}}  # draws a framework's table too, where there is one
each = pytest.mark.parametrize("name", NAMES)


def test_the_gallery_lists_every_script_once() -> None:
    assert sorted(NAMES) == sorted({path.stem for path in FOLDER.glob("*.py")} - MACHINERY)


@each
def test_a_script_is_short_and_imports_nothing_but_refimpl(name: str) -> None:
    source = (FOLDER / f"{name}.py").read_text()
    assert len(source.splitlines()) <= 60
    roots = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            roots |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            roots.add(node.module.split(".")[0] if not node.level and node.module else ".style")
            assert not node.level or {alias.name for alias in node.names} <= {"style", "words"}
    assert roots - OPTIONAL.get(name, set()) <= {
        "__future__",
        "collections",
        "typing",
        "numpy",
        "matplotlib",
        "refimpl",
        ".style",
    }


@each
def test_texts_are_there_and_fit(name: str) -> None:
    item, _ = drawn(name)
    assert len(item.title) <= 80
    assert not item.title.endswith(".")
    assert all(text and "\n" not in text for text in (item.title, item.see, item.why, item.source, item.alt))
    assert item.see.endswith(".")
    assert item.why.endswith(".")
    assert 20 <= len(item.alt) <= 250
    assert max(map(len, item.formula.splitlines())) <= 100
    assert not {"\t", "$"} & set(item.formula + item.see + item.why)


@each
def test_axes_are_named(name: str) -> None:
    for axes in drawn(name)[1].axes:
        for axis, text in ((axes.xaxis, axes.get_xlabel()), (axes.yaxis, axes.get_ylabel())):
            shown = axes.axison and axis.get_visible() and any(t.get_text() for t in axis.get_ticklabels())
            assert not shown or text or _shared(axes, axis), f"{axes.get_title()!r}: an axis without a name"


def _shared(axes: object, axis: object) -> bool:
    """Say whether the figure names the axis for all panels."""
    figure = axes.figure  # type: ignore[attr-defined]
    return bool(figure.get_supxlabel() if axis is axes.xaxis else figure.get_supylabel())  # type: ignore[attr-defined]


@each
def test_text_can_be_read_at_half_size(name: str) -> None:
    figure = drawn(name)[1]
    assert figure.get_figwidth() == style.WIDTH
    for text in _texts(figure):
        assert text.get_fontsize() >= style.SMALL, text.get_text()


@each
def test_text_stays_inside_and_apart(name: str) -> None:
    figure = drawn(name)[1]
    boxes = [(text.get_text(), text.get_window_extent()) for text in _texts(figure)]
    for text, box in boxes:
        inside = box.x0 >= 0 and box.y0 >= 0 and box.x1 <= figure.bbox.width and box.y1 <= figure.bbox.height
        assert inside, f"{text!r} leaves the figure"
    for (a, first), (b, second) in itertools.combinations(boxes, 2):
        assert not first.padded(-1).overlaps(second.padded(-1)), f"{a!r} lies on {b!r}"


@each
def test_every_figure_has_the_one_look(name: str) -> None:
    assert drawn(name)[0].figure.__code__ is style.look(lambda: Figure()).__code__


def test_drawing_keeps_the_settings_of_the_user() -> None:
    before = dict(matplotlib.rcParams)
    style.look(lambda: style.panels(1, 1, 2.0)[0])()
    assert dict(matplotlib.rcParams) == before


def _texts(figure: Figure) -> list[Text]:
    """Return every text that shows, laid out."""
    figure.draw_without_rendering()  # SVG has moved it
    found = [*figure.texts, *(text for legend in figure.legends for text in legend.get_texts())]
    for axes in figure.axes:
        found += [*axes.texts, *(axes.get_legend().get_texts() if axes.get_legend() else ())]
        found += [child for child in axes.get_children() if isinstance(child, Text)]  # titles
        for axis in (axes.xaxis, axes.yaxis) if axes.axison else ():
            ticks = axis._update_ticks() if axis.get_visible() else []  # those inside the limits
            found += [axis.label, *(text for tick in ticks for text in (tick.label1, tick.label2))]
    return list({id(text): text for text in found if text.get_visible() and text.get_text().strip()}.values())


def test_no_colour_is_told_by_hue_alone() -> None:
    """The colours of lines differ in lightness or come with dashes of their own; maps run evenly or from both sides."""
    assert len(set(style.DASHES)) == len(style.COLOURS) == len(set(style.COLOURS))
    grey = np.array([0.2126, 0.7152, 0.0722])
    light = matplotlib.colormaps[style.SEQUENTIAL](np.linspace(0, 1, 64))[:, :3] @ grey
    assert np.all(np.diff(light) > 0)
    sides = matplotlib.colormaps[style.DIVERGING](np.linspace(0, 1, 65))[:, :3]
    assert np.argmax(sides @ grey) == 32
    assert np.all(np.diff((sides @ grey)[:33]) > 0)
    assert np.all(np.diff((sides @ grey)[32:]) < 0)
