"""A process a framework, some at a time, each with one thread, and a progress bar each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from conformance.measure import Result, claims_of, named
from conformance.worker import NOT_INSTALLED
from refimpl.check.claims import Claims

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


class Run(NamedTuple):
    """What came of one framework; no results where it is not installed."""

    framework: str
    name: str
    version: str
    claims: Claims
    results: tuple[Result, ...] = ()
    missing: str = ""  # why it is not installed
    about: str = ""
    seconds: float = 0.0

    @property
    def heading(self) -> str:
        return f"{self.name} {self.version}".strip()

    @property
    def surprises(self) -> list[Result]:
        return [one for one in self.results if one.surprise]


def run_all(names: Sequence[str], fixtures: Path, jobs: int) -> list[Run]:
    """Measure frameworks side by side; the results come in the order of the names."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with (
        Progress(*columns, console=Console(stderr=True)) as bars,
        tempfile.TemporaryDirectory() as folder,
        ThreadPoolExecutor(jobs) as pool,
    ):
        tasks = {name: bars.add_task(name, start=False, total=None) for name in names}
        return list(pool.map(lambda name: _run(name, fixtures, Path(folder), bars, tasks[name]), names))


def _run(name: str, fixtures: Path, folder: Path, bars: Progress, task: TaskID) -> Run:
    """Start a worker, follow it, and read what it wrote."""
    results, errors = folder / f"{name}.json", folder / f"{name}.log"
    command = [sys.executable, "-m", "conformance.worker", name, str(results), str(fixtures)]
    started = time.monotonic()
    bars.start_task(task)
    with (
        errors.open("w") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=os.environ | ONE_THREAD) as worker,
    ):
        assert worker.stdout is not None
        first = worker.stdout.readline().strip()
        bars.update(task, total=int(first) if first.isdigit() else 0)
        for _ in worker.stdout:
            bars.advance(task)
    about = Run(name, *named(name), claims_of(name), seconds=time.monotonic() - started)
    if worker.returncode == NOT_INSTALLED:
        return about._replace(missing=first)
    if worker.returncode:
        raise RuntimeError(f"conformance.{name}: exit status {worker.returncode}\n{errors.read_text()[-2000:]}")
    found = json.loads(results.read_text("utf-8"))
    measured = tuple(Result(**one | {"failing": tuple(one["failing"])}) for one in found["results"])
    return about._replace(version=found["version"] or about.version, about=found["about"], results=measured)
