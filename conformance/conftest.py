"""The table of every framework that was checked, below pytest's own summary."""

from __future__ import annotations

import pytest

from refimpl.check.figures import short
from refimpl.check.verdict import Verdict

VERDICTS = pytest.StashKey[dict[str, list[Verdict]]]()
PROFILES = ("f64", "f32", "bf16", "f16")


@pytest.fixture(scope="session")
def verdicts(pytestconfig: pytest.Config) -> dict[str, list[Verdict]]:
    """Verdicts by framework, for the tables at the end."""
    return pytestconfig.stash.setdefault(VERDICTS, {})


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for framework, found in config.stash.get(VERDICTS, {}).items():
        terminalreporter.write_sep("=", f"{framework}: worst budget, and how many cases differ")
        for line in table(found):
            terminalreporter.write_line(line)


def table(verdicts: list[Verdict]) -> list[str]:
    """Return the table of README.md: a line an op, and in each profile the worst budget of the cases that agree."""
    lines = [f"| {'op':24} | cases | " + " | ".join(f"{profile:15}" for profile in PROFILES) + " |"]
    lines.append("|---|--:|" + "---|" * len(PROFILES))
    for op in dict.fromkeys(v.op for v in verdicts):
        cells = [_cell([v for v in verdicts if (v.op, v.profile) == (op, profile)]) for profile in PROFILES]
        cases = len({v.id for v in verdicts if v.op == op})
        lines.append(f"| {op:24} | {cases:5} | " + " | ".join(f"{cell:15}" for cell in cells) + " |")
    return lines


def _cell(verdicts: list[Verdict]) -> str:
    agree = [v.budget for v in verdicts if v.status in ("passed", "suspicious")]
    differ = len(verdicts) - len(agree)
    return (short(max(agree)) if agree else "–") + (f", {differ} differ" if differ else "")
