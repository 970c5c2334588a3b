"""Check the frameworks against the fixtures, and write CONFORMANCE.md, or compare it with what comes out.

python -m conformance                   measure every framework of conformance/claims, write the page
python -m conformance --check           the same, but fail where a verdict is not the page's
python -m conformance --check --quick   without the frameworks that compile a program a case
python -m conformance NAME ...          measure some; print their part of the page
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from conformance import page
from conformance.measure import SLOW, fixtures, frameworks
from conformance.processes import Run, run_all
from refimpl.fixtures.read import Pack

PAGE = Path(__file__).parents[1] / "CONFORMANCE.md"
OUT = Console(highlight=False, soft_wrap=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m conformance", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(frameworks())}; default all")
    parser.add_argument("--check", action="store_true", help="compare verdicts with CONFORMANCE.md, do not write it")
    parser.add_argument("--quick", action="store_true", help=f"leave out {', '.join(SLOW)}")
    parser.add_argument("--fixtures", type=Path, help="a built pack; default $REFIMPL_FIXTURES, or the cache")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time; default one a core")
    given = parser.parse_args()
    if unknown := sorted(set(given.names) - set(frameworks())):
        parser.error(f"NAME: {', '.join(unknown)}; allowed: {', '.join(frameworks())}")
    if given.check and not PAGE.exists():
        parser.error(f"--check: there is no {PAGE.name}; allowed: with a page that was written before")
    pack = fixtures(given.fixtures)
    names = given.names or [name for name in frameworks() if not (given.quick and name in SLOW)]
    runs = run_all(names, pack.root, max(given.jobs, 1))
    measured = [run for run in runs if not run.missing]
    surprised = tell(runs)
    if not measured:
        OUT.print("nothing was measured", style="red")
        return 1
    if given.check:
        return int(compare(measured, pack) or surprised)
    if names != frameworks() or surprised or len(measured) < len(runs):
        OUT.print(*(page.section(run, pack) for run in measured), sep="\n\n", markup=False)
        OUT.print(f"{PAGE.name} is left as it is", style="yellow")
        return int(surprised or len(measured) < len(runs))
    PAGE.write_text(page.render(measured, pack), "utf-8")
    OUT.print(f"written: {PAGE.name}")
    return 0


def tell(runs: Sequence[Run]) -> bool:
    """Print what was skipped, and what the claims do not say; return whether there is any of the latter."""
    for run in runs:
        if run.missing:
            OUT.print(f"skipped: {run.name} is not installed ({run.missing})", style="yellow", markup=False)
        for one in run.surprises:
            OUT.print(f"{run.name}: {one.id}, {one.profile}: {one.surprise}", style="red", markup=False)
    return any(run.surprises for run in runs)


def compare(runs: Sequence[Run], pack: Pack) -> bool:
    """Compare every measured framework's part of the page, but for its figures; return whether one changed."""
    committed = PAGE.read_text("utf-8")
    changed = [f"{run.name}: {line}" for run in runs for line in page.changes(committed, run, pack)]
    for line in changed:
        OUT.print(line, style="red", markup=False)
    OUT.print("a verdict changed: see above, and write the page anew" if changed else "every verdict is the page's")
    return bool(changed)


if __name__ == "__main__":
    sys.exit(main())
