"""Hold an implementation against the fixtures: how far off it is, and which known mistake it makes.

refimpl check --entry mypackage.adapter:run

@pytest.mark.parametrize("case", refimpl.check.cases(op="rope", profile="f32"), ids=str)
def test_rope(case):
    case.assert_matches(run(case.op, case.params, case.inputs, case.want))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .entry import Unsupported as Unsupported

if TYPE_CHECKING:
    from .parametrize import CheckCase as CheckCase
    from .parametrize import cases as cases

__all__ = ["CheckCase", "Unsupported", "cases"]


def __getattr__(name: str) -> Any:
    """Import the rest at first use: an adapter that only needs `Unsupported` loads NumPy and nothing else."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import parametrize

    return getattr(parametrize, name)
