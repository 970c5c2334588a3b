"""Every number of the page on teaching texts is recomputed, and what it names exists."""

import doctest
import re
from pathlib import Path

from plots.gallery import NAMES

PAGE = Path(__file__).parent.parent / "docs/truth.md"
TEXT = PAGE.read_text()


def test_every_snippet_prints_what_the_page_says() -> None:
    result = doctest.testfile(str(PAGE), module_relative=False)
    assert result.attempted >= 75
    assert result.failed == 0


def test_every_claim_has_a_snippet_or_a_figure() -> None:
    sections = re.split(r"^## ", TEXT, flags=re.M)[1:]
    assert len(sections) >= 11
    assert all("```python" in section for section in sections)
    questions = re.split(r"^\*\*", sections[-1], flags=re.M)[1:]
    assert len(questions) >= 10
    assert all("```python" in question or re.search(r"`\w+`", question) for question in questions)


def test_numbers_of_the_text_are_those_of_its_code() -> None:
    """Each number in a sentence is printed by a snippet, computed in one, or a setting of one."""
    code = "\n".join(re.findall(r"```python\n(.*?)```", TEXT, flags=re.S))
    known = set(map(float, re.findall(r"\d+(?:\.\d+)?(?:e\d+)?", code.replace(",", "").replace("_", ""))))
    prose = re.sub(r"```.*?```|`[^`]*`|^\|[^\n]*$", "", TEXT, flags=re.S | re.M)
    quoted = re.findall(r"(?<![\w^-])\d[\d,]*(?:\.\d+)?", prose)
    assert len(quoted) >= 40
    assert {n for n in quoted if float(n.replace(",", "")) not in known} == set()


def test_named_figures_exist() -> None:
    named = re.findall(r"Figures?:((?:\s+`\w+`,?)+)", TEXT)
    assert len(named) >= 8
    assert {name for names in named for name in re.findall(r"`(\w+)`", names)} <= set(NAMES)
