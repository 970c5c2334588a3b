"""Pictures and pages as files: the same bytes every time, each file written as a whole."""

from __future__ import annotations

import io
import multiprocessing
import os
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from refimpl.figures import draw
from refimpl.fixtures.errors import Refused
from refimpl.fixtures.place import replace

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
    for name, found in zip(names, _drawn(names), strict=True):
        for kind, data in found.items():
            replace(out / f"{name}.{kind}", data)
        say(f"{name}: {entry(name).title}")
    shown = [name for name in NAMES if all((out / f"{name}.{kind}").is_file() for kind in KINDS)]
    replace(out / "README.md", markdown_page(shown, pictures=True).encode())
    replace(out / "index.html", html_page(shown).encode())
    say(f"{len(names)} figures, each as {' and '.join(KINDS)}; look at {out / 'index.html'}")


def _drawn(names: Sequence[str]) -> Iterator[dict[str, bytes]]:
    """Draw one after another, or where there is enough to do in several processes, which leave Ctrl-C to this one."""
    jobs = min(os.cpu_count() or 1, len(names) // 4)
    if jobs < 2:
        yield from map(pictures, names)
        return
    spawn, ignored = multiprocessing.get_context("spawn"), (signal.SIGINT, signal.SIG_IGN)
    pool = ProcessPoolExecutor(jobs, mp_context=spawn, initializer=signal.signal, initargs=ignored)
    try:
        yield from pool.map(draw, names)
    finally:
        pool.shutdown(cancel_futures=True)


def pictures(name: str) -> dict[str, bytes]:
    """Draw a figure; return its files by kind."""
    figure = entry(name).figure()
    return {kind: picture(figure, kind) for kind in KINDS}


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


def _require_writable(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise Refused(f"--out: {out}: {error.strerror}; allowed: a folder that can be written to") from error
