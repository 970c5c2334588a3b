"""Check the frameworks against the fixtures, and write CONFORMANCE.md, or compare it with what comes out.

python -m conformance                   measure every framework of conformance/claims, write the page
python -m conformance --check           the same, but fail where a verdict is not the page's
python -m conformance NAME ...          measure some; print their part of the page
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from rich.console import Console

from conformance import page
from conformance.measure import frameworks
from conformance.processes import Run, run_all
from refimpl.check.command import open_pack

PAGE = Path(__file__).parents[1] / "CONFORMANCE.md"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m conformance", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(frameworks())}; default all")
    parser.add_argument(
        "--check", action="store_true", help="compare verdicts with CONFORMANCE.md instead of writing it"
    )
    parser.add_argument("--fixtures", type=Path, help="a built pack; default the user's cache")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time; default one a core")
    given = parser.parse_args()
    if unknown := sorted(set(given.names) - set(frameworks())):
        parser.error(f"NAME: {', '.join(unknown)}; allowed: {', '.join(frameworks())}")
    pack = open_pack(given.fixtures, [])
    runs = run_all(given.names or frameworks(), pack.root, given.jobs)
    out = Console(highlight=False, soft_wrap=True)
    for run in runs:
        if run.missing:
            out.print(f"skipped: {run.name} is not installed ({run.missing})", style="yellow", markup=False)
        for one in run.surprises:
            out.print(f"{run.name}: {one.id}, {one.profile}: {one.surprise}", style="red", markup=False)
    measured = [run for run in runs if not run.missing]
    surprised = any(run.surprises for run in runs)
    if not measured:
        out.print("nothing was measured", style="red")
        return 1
    if given.check:
        return max(int(surprised), compare(measured, out, pack.root))
    if given.names or surprised or len(measured) < len(runs):
        for run in measured:
            out.print(page.section(run, pack), markup=False)
        out.print("CONFORMANCE.md is left as it is", style="yellow")
        return int(surprised or len(measured) < len(given.names))
    PAGE.write_text(page.render(measured, pack), "utf-8")
    out.print(f"written: {PAGE.name}")
    return 0


def compare(runs: list[Run], out: Console, root: Path) -> int:
    """Compare every measured framework's part of the page, but for its figures."""
    pack = open_pack(root, [])
    committed, changed = PAGE.read_text("utf-8"), 0
    for run in runs:
        for line in page.changes(committed, run, pack):
            out.print(f"{run.name}: {line}", style="red", markup=False)
            changed = 1
    out.print(
        "a verdict changed: python -m conformance writes the page anew" if changed else "every verdict is the page's"
    )
    return changed


if __name__ == "__main__":
    sys.exit(main())
