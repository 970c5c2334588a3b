"""The last lines of the report: what holds for no case alone, and the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.text import Text

from .causes import cause, failures
from .figures import short
from .verdict import Verdict, claimed

BREACHES = 8  # told one by one
BESIDE = ("unsupported", "known failure", "not claimed", "suspicious")


def ending(verdicts: Sequence[Verdict], strict: bool, breaches: Sequence[str]) -> Iterator[Text]:
    """Yield a hint where gradients are missing, what broke the protocol in no case alone, and the verdict."""
    problems = [problem for v in claimed(verdicts) for problem in v.answer.problems]
    if any(problem.startswith("grad.") and problem.endswith(" is missing") for problem in problems):
        yield Text("gradients are missing: return them (or --forward, to ask for outputs alone)")
    told = Counter(breaches)
    for breach, times in list(told.items())[:BREACHES]:
        yield Text.assemble(("protocol broken", "bold red"), f"  {breach}{f' ({times} ×)' * (times > 1)}")
    if len(told) > BREACHES:
        yield Text(f"… and {len(told) - BREACHES} more, which --json holds", style="dim")
    yield _closing(verdicts, strict, breaches)


def _closing(verdicts: Sequence[Verdict], strict: bool, breaches: Sequence[str]) -> Text:
    """Return the verdict in one line."""
    failed, passed = failures(verdicts, strict), [v for v in verdicts if v.status in ("passed", "suspicious")]
    total = len(claimed(verdicts))
    counts = Counter(v.status for v in verdicts)
    beside = "".join(f", {counts[status]} {status}" for status in BESIDE if counts[status])
    if failed:
        names = Counter(cause(v).name for v in failed)
        causes = ", ".join(f"{name} ({n})" for name, n in names.most_common())
        return Text.assemble(("FAILED", "bold red"), f"  {len(failed)} of {total}{beside}: {causes}")
    if not passed:
        return Text.assemble(("NOTHING CHECKED", "bold red"), f"  none of {total} passed or failed{beside}")
    worst = max(passed, key=lambda v: v.budget)
    figure = f"worst budget {short(worst.budget)} in {worst.id}, {worst.profile}"
    if breaches:
        return Text.assemble(("PROTOCOL BROKEN", "bold red"), f"  {len(passed)} of {total} passed{beside}")
    return Text.assemble(("PASSED", "bold green"), f"  {len(passed)} of {total}{beside}; {figure}")
