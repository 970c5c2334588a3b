"""The pages and files of the gallery, and the command that writes them."""

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from typer.testing import CliRunner

from plots import write
from plots.gallery import CHAPTERS, NAMES
from plots.page import html_page
from plots.readme import markdown_page
from refimpl.cli import app
from tests.fixtures.packs import contents, python, refimpl
from tests.plots.drawn import drawn

FOLDER = Path(write.__file__).parent
CHROMIUM = shutil.which("chromium")
QUICK = "sinusoidal_heatmap"


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the whole gallery, from the figures that are drawn already."""
    out = tmp_path_factory.mktemp("gallery") / "out"
    out.mkdir()
    for name in NAMES:
        for kind in write.KINDS:
            write.replace(out / f"{name}.{kind}", write.picture(drawn(name)[1], kind))
    write.write([], out, print)
    return out


def run(*args: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["plot", *map(str, args)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


class Tags(HTMLParser):
    """Collect the tags of a page, and see that each that opens closes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for found, attrs in self.found if found == tag]


def test_the_readme_is_that_of_today() -> None:
    assert (FOLDER / "README.md").read_text() == markdown_page(NAMES, pictures=False), "run python -m plots.readme"


def test_the_page_shows_every_figure_in_order_and_says_what_it_is(gallery: Path) -> None:
    page = Tags((gallery / "index.html").read_text())
    assert [attrs["src"] for attrs in page.all("img")] == [f"{name}.png" for name in NAMES]
    assert [attrs["alt"] for attrs in page.all("img")] == [drawn(name)[0].alt for name in NAMES]
    assert [attrs["id"] for attrs in page.all("section")] == list(NAMES)


def test_the_page_takes_nothing_from_elsewhere(gallery: Path) -> None:
    page = Tags((gallery / "index.html").read_text())
    assert not page.all("script")
    for _, attrs in page.found:
        for target in filter(None, (attrs.get("src"), attrs.get("href"))):
            local = target.startswith("#") and target[1:] in NAMES
            assert local or target == "data:," or (gallery / target).is_file(), target


def test_texts_cannot_break_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    from plots import page

    item = drawn(QUICK)[0]._replace(title="<b>", see="a & b", alt='"><script>', formula="x < y")
    monkeypatch.setattr(page, "entry", lambda name: item)
    text = html_page([QUICK])
    assert all(part in text for part in ("&lt;b&gt;", "a &amp; b", "&quot;&gt;&lt;script&gt;", "x &lt; y"))
    assert not Tags(text).all("script")


def test_only_what_lies_there_is_shown(tmp_path: Path) -> None:
    status, text = run(QUICK, "--out", tmp_path)
    assert (status, text.split(":")[0]) == (0, QUICK)
    assert set(contents(tmp_path)) == {f"{QUICK}.png", f"{QUICK}.svg", "index.html", "README.md"}
    shown = Tags((tmp_path / "index.html").read_text()).all("img")
    assert [attrs["src"] for attrs in shown] == [f"{QUICK}.png"]
    markdown = (tmp_path / "README.md").read_text()
    assert re.findall(r"\]\((.*?)\)", markdown) == [f"{QUICK}.png"]
    assert re.findall(r"^## (.*)", markdown, flags=re.M) == [c for c, names in CHAPTERS.items() if QUICK in names]


def test_other_processes_write_the_same_bytes(gallery: Path, tmp_path: Path) -> None:
    names = NAMES[:8]  # enough to be shared out
    home = tmp_path / "home"
    home.mkdir()
    (home / "matplotlibrc").write_text("font.size: 40\nlines.color: red\nimage.cmap: jet\n")
    result = refimpl("plot", *names, "--out", tmp_path / "out", PYTHONHASHSEED="7", MATPLOTLIBRC=str(home))
    assert result.returncode == 0, result.stderr
    *lines, last = result.stdout.splitlines()
    assert [line.split(":")[0] for line in lines] == list(names)
    assert last == f"8 figures, each as png and svg; look at {tmp_path / 'out/index.html'}"
    for file in (f"{name}.{kind}" for name in names for kind in write.KINDS):
        assert (tmp_path / "out" / file).read_bytes() == (gallery / file).read_bytes(), file


def test_pictures_hold_no_date_and_no_version(gallery: Path) -> None:
    for path in (*gallery.glob("*.svg"), *gallery.glob("*.png")):
        data = path.read_bytes()
        assert not re.search(rb"dc:date|matplotlib v|Software", data), path.name


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(b"old")

    def fail(self: Path, target: Path) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write.replace(path, b"new")
    assert contents(tmp_path) == {"a.png": b"old"}


def test_an_unknown_name_is_a_usage_error_that_names_the_closest(tmp_path: Path) -> None:
    status, text = run("sinusoidal_heatmp", "--out", tmp_path)
    assert status == 2
    assert f"Did you mean {QUICK}" in text
    assert all(name in text for name in NAMES)
    assert not contents(tmp_path)


def test_a_folder_that_cannot_be_written_to_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file/below", "/proc/none"):
        status, text = run(QUICK, "--out", out)
        assert status == 2
        assert f"--out: {out}" in text
        assert "allowed: a folder that can be written to" in text


def test_without_matplotlib_the_command_says_what_to_install(tmp_path: Path) -> None:
    code = f"""
import sys
sys.modules["matplotlib"] = None
sys.argv = ["refimpl", "plot", "--out", {str(tmp_path / "out")!r}]
from refimpl.__main__ import main
main()
"""
    result = python(code)
    assert result.returncode == 2
    assert "needs matplotlib: pip install 'refimpl[plots]'" in result.stderr
    assert "Traceback" not in result.stderr
    assert not contents(tmp_path)


def test_a_folder_of_that_name_is_not_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "plots").mkdir()
    (tmp_path / "plots/__init__.py").write_text("raise RuntimeError('not ours')")
    result = refimpl("plot", QUICK, "--out", "out", cwd=tmp_path)
    assert result.returncode == 0, result.stderr


def test_importing_the_command_line_loads_no_matplotlib() -> None:
    result = python("import refimpl.cli, sys; print('matplotlib' in sys.modules)")
    assert result.stdout.strip() == "False"


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium")
@pytest.mark.parametrize("width", [390, 1280])
def test_a_browser_shows_all_pictures_without_a_complaint(gallery: Path, tmp_path: Path, width: int) -> None:
    """Every picture is loaded, nothing is wider than the screen, and the console shows our own line alone."""
    measure = """<script>onload = () => console.log("measured", [...document.images].filter(i => i.naturalWidth).length,
      innerWidth, document.documentElement.scrollWidth - document.documentElement.clientWidth)</script></body>"""
    site = shutil.copytree(gallery, tmp_path / "site")
    page = (site / "index.html").read_text()
    (site / "index.html").write_text(page.replace("</body>", measure))
    frame = f'<iframe src="index.html" style="border: 0; width: {width}px; height: 900px"></iframe>'
    (site / "frame.html").write_text(f'<!DOCTYPE html><title>x</title><link rel="icon" href="data:,">{frame}')
    flags = "headless no-sandbox disable-gpu no-first-run disable-background-networking disable-sync"
    flags += " disable-component-update enable-logging=stderr virtual-time-budget=20000 window-size=1400,1000"
    command = [str(CHROMIUM), *(f"--{flag}" for flag in flags.split()), f"--user-data-dir={tmp_path / 'profile'}"]
    command += ["--dump-dom", (site / "frame.html").as_uri()]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    said = re.findall(r'CONSOLE.*?\] "(.*?)", source', result.stderr)
    assert said == [f"measured {len(NAMES)} {width} 0"], result.stderr
