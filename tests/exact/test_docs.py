"""docs/arithmetic.md states the model; the constants in the code must be the ones it states."""

import re
from pathlib import Path

from refimpl.exact.profiles import PROFILES
from refimpl.exact.widening import ABSOLUTE, EXPONENTIAL, POWER, RELATIVE

PAGE = (Path(__file__).parents[2] / "docs" / "arithmetic.md").read_text(encoding="utf-8")
ROWS = {cells[0]: cells[1] for cells in re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE)}


def stated(kind: str) -> dict[str, int]:
    """Return {function: units of u} of the rows that end in `kind`."""
    found = {}
    for names, error in ROWS.items():
        if match := re.fullmatch(rf"(\d+) u, {kind}", error):
            found |= dict.fromkeys(names.split(", "), int(match[1]))
    return found


def test_constants():
    assert stated("relative") == RELATIVE
    assert stated("absolute") == ABSOLUTE
    assert ROWS["exp, expm1"].startswith("({} + {} abs(x)) u, relative".format(*EXPONENTIAL["exp"]))
    assert EXPONENTIAL["exp"] == EXPONENTIAL["expm1"]
    assert f"(n + {POWER}) u, relative" in ROWS["pow"]


def test_profiles():
    table = dict(re.findall(r"^\| (\w+) \| (\w+ \| \w+) \|$", PAGE, re.MULTILINE))
    assert table == {name: f"{p.storage.name} | {p.wide.name}" for name, p in PROFILES.items()}
    for profile in PROFILES.values():
        for format in (profile.storage, profile.wide):
            assert f"2^-{format.precision} in {format.name}" in PAGE
