"""python -m tests.mutants: change the op sources one node at a time, and see what the pack catches."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from refimpl import usage
from refimpl.check.cache import cached
from refimpl.check.progress import progress
from refimpl.fixtures.verify import verify

from .report import print_outcome, record
from .sources import modules
from .sweep import chosen, sweep


def _modules(names: list[str] | None) -> list[str]:
    return usage.known("--module", names or [], modules())


def _op_modules(names: list[str]) -> list[str]:
    """Return the files of the functions that the cases of some ops call."""
    from refimpl.fixtures.read import read

    from .judge import questions, reach

    met = reach(questions(read(cached(names), names).cases, "f32"))
    return [name for name in modules() if any(asked for (module, _), asked in met.items() if module == name)]


def main(
    module: Annotated[list[str] | None, typer.Option(help="A file, rotary/rope.py.", callback=_modules)] = None,
    op: Annotated[list[str] | None, typer.Option(help="All files that an op calls.", callback=usage.ops)] = None,
    sample: Annotated[int | None, typer.Option(help="So many of them, chosen by the seed.", min=1)] = None,
    seed: Annotated[int, typer.Option(help="Of the sample.")] = 0,
    profile: Annotated[str, typer.Option(help="f32 or f64.")] = "f32",
    fixtures: Annotated[Path | None, typer.Option(help="A pack; by default one is built.", exists=True)] = None,
    jobs: Annotated[int | None, typer.Option(help="Processes.", min=1)] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Every mutant and what became of it.")] = None,
) -> None:
    """Mutate the op sources, and judge every mutant by the cases that meet it.

    Exit status: 0 every mutant is caught or listed as equivalent · 1 one survived, or the list is wrong.
    """
    usage.known("--profile", [profile], ["f32", "f64"])
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # of the processes to come: their arrays are small
    pack = fixtures or cached(())
    verify(pack)
    wanted = [*(module or []), *(_op_modules(op) if op else [])]
    places = chosen(wanted, sample, seed)
    with progress("mutating", len(places)) as done:
        outcome = sweep(places, pack, profile, jobs or os.cpu_count() or 1, done, complete=sample is None)
    print_outcome(Console(highlight=False), outcome, title=f"{len(places)} mutants in profile {profile}")
    if json_file is not None:
        json_file.write_text(json.dumps(record(outcome), indent=1, ensure_ascii=False))
    raise typer.Exit(1 if outcome.survivors or outcome.caught_after_all or outcome.stale else 0)


if __name__ == "__main__":
    typer.run(main)
