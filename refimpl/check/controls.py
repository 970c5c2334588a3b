"""Controls: wrong results that the checker must refuse, and right ones that it must accept."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..exact.profiles import PROFILES
from ..fixtures.read import LoadedCase
from .entry import Implementation
from .request import DTYPES
from .run import Pair
from .verdict import judge

Outputs = dict[str, np.ndarray]


class Control(NamedTuple):
    """What became of one control."""

    name: str
    tried: int  # cases in which it differs from the expected values
    right: int  # refused, or for the expected values accepted
    wrong: tuple[str, ...]  # the other cases

    @property
    def holds(self) -> bool:
        return self.tried > 0 and not self.wrong


def run_controls(chosen: Sequence[Pair]) -> list[Control]:
    """Play every control as an implementation, through the same path as a real one."""
    found = [_run("expected values", expected, chosen, accepted=True)]
    return found + [_run(name, make, chosen, accepted=False) for name, make in CONTROLS.items()]


def print_controls(console: Console, controls: Sequence[Control]) -> bool:
    """Print a table, and return whether a control fails."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("control", "must", "cases", "as it must", ""):
        table.add_column(heading, justify="right" if heading in ("cases", "as it must") else "left")
    for i, control in enumerate(controls):
        wrong = ", ".join(control.wrong[:3]) or "tried nowhere"
        sign = Text("✓", style="green") if control.holds else Text(f"✗ {wrong}", style="bold red")
        table.add_row(control.name, "fail" if i else "pass", str(control.tried), str(control.right), sign)
    broken = [control.name for control in controls if not control.holds]
    console.print(table)
    verdict = ("CHECKER BROKEN", "bold red") if broken else ("CHECKER SOUND", "bold green")
    console.print(Text.assemble(verdict, f"  {', '.join(broken) or f'all {len(controls)} controls end as they must'}"))
    return bool(broken)


def expected(case: LoadedCase, profile: str) -> Outputs:
    """Return the golden values, rounded to the widest dtype that the profile accepts."""
    return {name: _stored(array, profile) for name, array in case.expected.items()}


def _zeros(case: LoadedCase, profile: str) -> Outputs:
    return {name: np.zeros_like(array) for name, array in expected(case, profile).items()}


def _nan(case: LoadedCase, profile: str) -> Outputs:
    return {name: np.full_like(array, math.nan) for name, array in expected(case, profile).items()}


def _copy(case: LoadedCase, profile: str) -> Outputs | None:
    """Return an input in place of every output that has its shape."""
    outputs, inputs = expected(case, profile), case.arguments
    for name, array in outputs.items():
        like = [x for x in inputs.values() if x.shape == array.shape and x.dtype.kind == "f"]
        outputs[name] = _stored(like[0], profile) if like else array
    return outputs


def _transposed(case: LoadedCase, profile: str) -> Outputs:
    outputs = expected(case, profile)
    return {name: array.swapaxes(-1, -2) if array.ndim > 1 else array for name, array in outputs.items()}


def _wrong_width(case: LoadedCase, profile: str) -> Outputs:
    """Return float64 for float32; in profile f64 float32."""
    dtype = np.float32 if profile == "f64" else np.float64
    return {name: array.astype(dtype) for name, array in case.expected.items()}


def _missing(case: LoadedCase, profile: str) -> Outputs:
    return dict(list(expected(case, profile).items())[:-1])


def _beyond(case: LoadedCase, profile: str) -> Outputs | None:
    """Return the expected values, with 2 tol added to the one element that has the largest tolerance."""
    outputs, tolerances = expected(case, profile), case.tolerance(profile)
    name = max(outputs, key=lambda name: float(np.max(tolerances[name], initial=0.0)))
    tol, want = tolerances[name].astype(np.float64), case.expected[name]
    if not tol.any():
        return None
    place = np.unravel_index(int(np.argmax(np.where(np.isfinite(want), tol, -1.0))), tol.shape)
    array = outputs[name].copy()
    array[place] = want[place] + 2 * tol[place]
    while not abs(float(array[place]) - want[place]) > tol[place]:  # rounded back to within
        array[place] = np.nextafter(array[place], array.dtype.type(np.inf))
    return outputs | {name: array}


def _stored(array: np.ndarray, profile: str) -> np.ndarray:
    return array.astype(DTYPES[PROFILES[profile].wide.name]) if array.dtype.kind == "f" else array


def _run(
    name: str, make: Callable[[LoadedCase, str], Outputs | None], chosen: Sequence[Pair], *, accepted: bool
) -> Control:
    tried, wrong = 0, []
    for case, profile in chosen:
        outputs = make(case, profile)
        if outputs is None or (not accepted and _same(outputs, expected(case, profile))):
            continue  # this case cannot show it: its expected values are zeros, it has no axis to swap, ...
        tried += 1
        passed = judge(case, profile, _answering(outputs), explain=False).status in ("passed", "suspicious")
        if passed != accepted:
            wrong.append(f"{case.id} {profile}")
    return Control(name, tried, tried - len(wrong), tuple(wrong))


def _answering(outputs: Outputs) -> Implementation:
    return lambda op, params, inputs, want: outputs


def _same(one: Outputs, other: Outputs) -> bool:
    return one.keys() == other.keys() and all(
        one[name].dtype == other[name].dtype and np.array_equal(one[name], other[name]) for name in one
    )


CONTROLS: dict[str, Callable[[LoadedCase, str], Outputs | None]] = {
    "zeros": _zeros,
    "NaN": _nan,
    "a copy of an input": _copy,
    "transposed outputs": _transposed,
    "float64 for float32 (in f64 the reverse)": _wrong_width,
    "a missing tensor": _missing,
    "expected + 2 tol at one element": _beyond,
}
