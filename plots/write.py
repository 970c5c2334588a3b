"""Pictures and pages as files: the same bytes every time, each file written as a whole."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from refimpl.fixtures.errors import Refused

from .gallery import NAMES, entry
from .page import html_page
from .readme import markdown_page

KINDS = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}  # and the metadata that would differ


def write(names: Sequence[str], out: Path, say: Callable[[str], object]) -> None:
    """Draw figures into a folder, and the pages that show all figures which then lie there.

    Raises Refused for a folder that cannot be written to.
    """
    import matplotlib  # noqa: F401, before a folder is made

    _require_writable(out)
    for name in names:
        item = entry(name)
        figure = item.figure()
        for kind in KINDS:
            replace(out / f"{name}.{kind}", picture(figure, kind))
        say(f"{name}: {item.title}")
    shown = [name for name in NAMES if all((out / f"{name}.{kind}").is_file() for kind in KINDS)]
    replace(out / "README.md", markdown_page(shown, pictures=True).encode())
    replace(out / "index.html", html_page(shown).encode())


def picture(figure: Any, kind: str) -> bytes:
    """Return a figure as the bytes of a PNG or SVG file, which hold neither date nor version.

    Printed by the canvas itself: `savefig` would draw everything twice, to lay out what is laid out.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    from . import style

    buffer = io.BytesIO()
    with style.context():
        if kind == "png":
            FigureCanvasAgg(figure).print_png(buffer, metadata=KINDS[kind])
        else:
            FigureCanvasSVG(figure).print_svg(buffer, metadata=KINDS[kind])
    return buffer.getvalue()


def replace(path: Path, data: bytes) -> None:
    """Write a file beside its place, and rename it: whoever reads sees the old one or the new one."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        new.write_bytes(data)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def _require_writable(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise Refused(f"--out: {out}: {error.strerror}; allowed: a folder that can be written to") from error
