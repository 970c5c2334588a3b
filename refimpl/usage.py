"""What can be wrong with a command: names that do not exist, and errors, each with its exit status."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import typer

from .exact.profiles import PROFILES
from .fixtures.errors import BuildError, FixtureError, Refused
from .ops import OPS

FAILED, USAGE, INTEGRITY = 1, 2, 3
INTERRUPTED = 130
EXTRAS = {
    "flint": "fixtures",
    "jsonschema": "fixtures",
    "matplotlib": "plots",
    "ml_dtypes": "fixtures",
    "platformdirs": "fixtures",
}  # module -> optional group


def known(option: str, names: Sequence[str], allowed: Sequence[str]) -> list[str]:
    """Return the names; one that does not exist is a usage error that says what does, closest first."""
    for name in names:
        if name not in allowed:
            close = difflib.get_close_matches(name, allowed, n=3, cutoff=0.5)
            hint = f" Did you mean {' or '.join(close)}?" if close else ""
            raise typer.BadParameter(f"there is no {name!r}.{hint} Allowed: {', '.join(allowed)}.", param_hint=option)
    return list(names)


def ops(names: list[str] | None) -> list[str]:
    """Accept names of ops."""
    return known("--op", names or [], list(OPS))


def profiles(names: list[str] | None) -> list[str]:
    """Accept names of profiles."""
    return known("--profile", names or [], list(PROFILES))


def profile(name: str | None) -> str | None:
    """Accept the name of one profile."""
    return None if name is None else known("--profile", [name], list(PROFILES))[0]


def jobs(number: int | None) -> int | None:
    """Accept a number of processes."""
    if number is not None and number < 1:
        raise typer.BadParameter(f"got {number}; allowed: 1 or more", param_hint="--jobs")
    return number


@contextmanager
def statuses() -> Iterator[None]:
    """Turn what can go wrong into one message and an exit status."""
    try:
        yield
        return
    except FixtureError as error:
        message, status = str(error), INTEGRITY
    except Refused as error:
        message, status = str(error), USAGE
    except BuildError as error:
        message, status = str(error), FAILED
    except BrokenPipeError:
        raise
    except OSError as error:
        message, status = str(error), FAILED
    except KeyboardInterrupt:
        message, status = "interrupted; nothing was changed", INTERRUPTED
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise
        message, status = f"needs {error.name}: pip install 'refimpl[{EXTRAS[error.name]}]'", USAGE
    typer.echo(f"refimpl: {message}", err=True)
    raise typer.Exit(status)
