"""python -m refimpl, and the command refimpl."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, or say which optional group it needs."""
    try:
        from .cli import main as run
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(f"refimpl: the command line needs {error.name}: pip install 'refimpl[fixtures]'")
    run()


if __name__ == "__main__":
    main()
