"""The figures of the pack beside their targets: `make numbers`.

Builds the whole pack, verifies it, checks refimpl's own NumPy functions against it, and reads what the cases claim.
Bytes under other Pythons and NumPys: `make matrix`; other SIMD levels and BLAS kernels: tests/fixtures/test_build.py.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from refimpl import exact
from refimpl.fixtures import Pack, read
from refimpl.fixtures.budget import worst
from refimpl.fixtures.catches import SEPARATED
from refimpl.fixtures.contents import files_of
from refimpl.fixtures.digests import differences
from refimpl.fixtures.golden import computation
from refimpl.fixtures.kills import kills
from refimpl.ops import OPS

ROOT = Path(__file__).parents[1]


class Figure(NamedTuple):
    """One line of the table."""

    name: str
    target: str
    found: str
    met: bool


def figures(scratch: Path) -> Iterator[Figure]:
    """Yield each figure as soon as it is known."""
    pack_folder = scratch / "fixtures"
    seconds, _ = command("build", "--out", pack_folder)
    pack = read(pack_folder)
    files = files_of(pack_folder)
    size = sum(map(len, files.values()))
    yield Figure("cases", "≥ 300", str(len(pack.cases)), len(pack.cases) >= 300)
    yield from covered(pack)
    yield Figure("build of the whole pack, s", "≤ 120", f"{seconds:.1f}", seconds <= 120)
    yield Figure("pack, MB", "≤ 10", f"{size / 1e6:.2f}", size <= 10e6)
    largest = max(entry["bytes"] for path, entry in pack.manifest["files"].items() if path.startswith("cases/"))
    yield Figure("largest file of a case, KiB", "≤ 64", f"{largest / 1024:.1f}", largest <= 64 * 1024)
    other = differences(files)
    yield Figure("cases and files unlike the recorded digests", "0", str(len(other)), not other)
    seconds, _ = command("verify", pack_folder)
    yield Figure("verify, s", "≤ 3", f"{seconds:.1f}", seconds <= 3)
    yield check_cost(pack_folder, scratch)
    yield honest(pack)
    yield from separation(pack)


def covered(pack: Pack) -> Iterator[Figure]:
    """Yield how many ops have cases, and how many of those that can have gradients."""
    ops = {case.op for case in pack.cases}
    yield Figure("ops with cases", f"{len(OPS)}, all", str(len(ops)), ops == set(OPS))
    learned = {name for name, op in OPS.items() if op.backward}
    graded = {case.op for case in pack.cases if case.description["gradients"]}
    yield Figure("ops with a backward, with gradients", f"{len(learned)}, all", str(len(graded)), graded == learned)


def check_cost(pack: Path, scratch: Path) -> Figure:
    """Return what a check of the whole pack takes beside the implementation's own time."""
    noted = scratch / "seconds"
    entry = ("--entry", "benchmarks.timed:run", "--profile", "f64", "--profile", "f32")
    seconds, _ = command("check", *entry, "--fixtures", pack, TIMED_SECONDS=str(noted))
    beside = seconds - float(noted.read_text())
    return Figure("check of the whole pack beside its own time, s", "≤ 30", f"{beside:.1f}", beside <= 30)


def honest(pack: Pack) -> Figure:
    """Return the worst budget of an honest run over all cases and profiles."""
    budgets = [
        worst(got, case.expected[name], case.tolerance(profile)[name])
        for case in pack.cases
        for profile in case.profiles
        for name, got in exact.nearest(computation(case.op, case.params, case.arguments, case.want), profile).items()
    ]
    return Figure("worst honest run, budgets", "≤ 1", f"{max(budgets):.3f}", max(budgets) <= 1)


def separation(pack: Pack) -> Iterator[Figure]:
    """Yield the weakest claim of each profile, and how often the rarest mistake of float32 is caught."""
    for profile, least in SEPARATED.items():
        claims = [budget for row in kills(pack, profile).values() for budget in row.values()]
        name = f"weakest of {len(claims)} claims in {profile}, budgets"
        yield Figure(name, f"≥ {least:g}", f"{min(claims):g}", min(claims) >= least)
    found = kills(pack, "f32")
    rarest = min(len(row) for row in found.values())
    yield Figure(f"cases that catch the rarest of {len(found)} mistakes (f32)", "≥ 2", str(rarest), rarest >= 2)
    per_case = Counter(case for row in found.values() for case in row)
    fewest = min(per_case[case.id] for case in pack.cases if "f32" in case.profiles)
    yield Figure("mistakes that the weakest case catches (f32)", "≥ 1", str(fewest), fewest >= 1)


def command(*args: object, **environ: str) -> tuple[float, str]:
    """Run refimpl in a process of its own; return its seconds and what it printed. Status 1 is a verdict, no error."""
    words = [sys.executable, "-m", "refimpl", *map(str, args)]
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    start = time.perf_counter()
    run = subprocess.run(words, env=os.environ | environ | {"PYTHONPATH": path}, stdout=subprocess.PIPE, check=False)
    if run.returncode not in (0, 1):
        raise SystemExit(run.returncode)
    return time.perf_counter() - start, run.stdout.decode()


def main() -> int:
    """Print the table; exit status 1 where a target is missed."""
    table = Table("figure", "target", "found", "", title="the pack in numbers")
    console = Console()
    with tempfile.TemporaryDirectory() as scratch, console.status("measuring"):
        found = list(figures(Path(scratch)))
    for figure in found:
        table.add_row(figure.name, figure.target, figure.found, "met" if figure.met else "MISSED")
    console.print(table)
    return int(not all(figure.met for figure in found))


if __name__ == "__main__":
    sys.exit(main())
