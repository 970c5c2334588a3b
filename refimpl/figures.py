"""Where the scripts of the figures lie: beside this package in a checkout, inside it when installed from a wheel."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).parent
FOLDERS = (HERE / "plots", HERE.parent / "plots")  # the wheel's first: beside an installed package lie other people's
NAME = "refimpl.plots"  # never plain `plots`, which may be a folder of the user's


def load(module: str) -> ModuleType:
    """Return a module of plots/, which this package does not import otherwise."""
    if NAME not in sys.modules:
        folder = next(folder for folder in FOLDERS if (folder / "gallery.py").is_file())
        init = folder / "__init__.py"
        spec = importlib.util.spec_from_file_location(NAME, init, submodule_search_locations=[str(folder)])
        sys.modules[NAME] = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    return importlib.import_module(f"{NAME}.{module}")


def draw(name: str) -> dict[str, bytes]:
    """Draw a figure in a process that has loaded nothing yet; return its files by kind."""
    return load("write").pictures(name)
