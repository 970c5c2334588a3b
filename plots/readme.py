"""The gallery as Markdown: with pictures beside them, without in the repository, which holds no pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .gallery import CHAPTERS, NAMES, entry

INTRODUCTION = """# Figures

One script a figure, at most 60 lines, drawing numbers that refimpl's own functions return. `refimpl plot NAME ...`
draws those named, `refimpl plot` and `make plots` all, as PNG and SVG, with a page `index.html` that shows them.
"""


def markdown_page(names: Sequence[str], *, pictures: bool) -> str:
    """Return the page of these figures, chapter by chapter."""
    parts = [INTRODUCTION]
    for chapter, members in CHAPTERS.items():
        chosen = [name for name in members if name in names]
        parts += [f"## {chapter}\n"] if chosen else []
        for name in chosen:
            item = entry(name)
            parts.append(f"### {item.title}\n")
            parts += [f"![{item.alt}]({name}.png)\n"] if pictures else []
            parts.append(f"{item.see}\n\n{item.why}\n\n```text\n{item.formula}\n```\n")
            parts.append(f"`{name}` · {item.source}\n")
    return "\n".join(parts)


def main() -> None:
    """Write plots/README.md."""
    from .write import replace

    replace(Path(__file__).with_name("README.md"), markdown_page(NAMES, pictures=False).encode())


if __name__ == "__main__":
    main()
