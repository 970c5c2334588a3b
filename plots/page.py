"""The gallery as one static page: no script, nothing from elsewhere, light or dark, from phone to projector."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from .gallery import CHAPTERS, Entry, entry

STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #ffffff; --soft: #f3f3f3; --line: #d0d0d0; --link: #00598c }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e8; --paper: #161616; --soft: #242424; --line: #444444; --link: #7cc4f0 }
}
* { box-sizing: border-box }
body { margin: 0 auto; padding: 1rem; max-width: 52rem; color: var(--ink); background: var(--paper);
  font: 1rem/1.5 system-ui, sans-serif }
h1, h2, h3 { line-height: 1.2 }
h2 { margin: 3rem 0 0; padding-top: 1rem; border-top: 2px solid var(--line) }
h3 { margin: 2.5rem 0 .75rem }
a { color: var(--link) }
nav ul { margin: .25rem 0 1rem; padding-left: 1.25rem }
figure { margin: 0 }
img { display: block; width: 100%; height: auto; background: #ffffff;
  border: 1px solid var(--line); border-radius: 6px }
pre { margin: .75rem 0; padding: .75rem; white-space: pre-wrap; background: var(--soft); border-radius: 6px;
  font: .875rem/1.45 ui-monospace, monospace }
p { margin: .75rem 0 }
.source { font-size: .875rem }
"""


def html_page(names: Sequence[str]) -> str:
    """Return the page of these figures, chapter by chapter."""
    contents, body = [], []
    for chapter, members in CHAPTERS.items():
        items = [entry(name) for name in members if name in names]
        if items:
            links = "\n".join(f'<li><a href="#{item.name}">{escape(item.title)}</a></li>' for item in items)
            contents.append(f"<p>{escape(chapter)}</p>\n<ul>\n{links}\n</ul>")
            body += [f"<h2>{escape(chapter)}</h2>", *map(_section, items)]
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<link rel="icon" href="data:,">',  # else browsers ask for one, and log that there is none
            f"<title>refimpl: figures</title>\n<style>{STYLE}</style>\n</head>",
            "<body>\n<h1>How a token knows where it is</h1>",
            "<p>Every number drawn here is what refimpl's own functions return.</p>",
            '<nav aria-label="Figures">',
            *contents,
            "</nav>\n<main>",
            *body,
            "</main>\n</body>\n</html>\n",
        ]
    )


def _section(item: Entry) -> str:
    name = item.name
    return f"""<section id="{name}">
<h3>{escape(item.title)}</h3>
<figure>
<a href="{name}.svg"><img src="{name}.png" alt="{escape(item.alt)}"></a>
<figcaption>
<p>{escape(item.see)}</p>
<p>{escape(item.why)}</p>
</figcaption>
</figure>
<pre>{escape(item.formula)}</pre>
<p class="source">{escape(item.source)} · <code>plots/{name}.py</code> · <a href="{name}.svg">SVG</a> · \
<a href="{name}.png">PNG</a></p>
</section>"""
