"""A progress bar on the terminal's error stream, so that the report alone goes to its output."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

EVERY = 0.1  # seconds


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[str], None]]:
    """Yield a function to call with the name of each thing finished; the bar disappears at the end.

    It is drawn then alone, not in the background: while foreign code runs, its error stream is not the terminal's.
    """
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    shown = Progress(
        *columns,
        console=console,
        transient=True,
        auto_refresh=False,
        redirect_stdout=False,
        redirect_stderr=False,
        disable=not console.is_terminal,
    )
    with shown as bar:
        task = bar.add_task(what, total=total)
        drawn = [0.0]

        def done(name: str) -> None:
            due = time.monotonic() - drawn[0] > EVERY
            bar.update(task, advance=1, description=f"{what} {name:<44}", refresh=due)
            drawn[0] = time.monotonic() if due else drawn[0]

        yield done
