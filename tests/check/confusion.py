"""Every known mistake as an implementation, on every case that catches it: how often is it called by its name?

python -m tests.check.confusion PACK [--op OP ...] [--profile P ...] [--share 0.1]
"""

import argparse
import random
import time
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from refimpl.check.diagnose import CONVENTION, NAMED, UNKNOWN
from refimpl.check.verdict import Verdict, judge
from refimpl.fixtures.read import LoadedCase, read
from refimpl.mistakes import MISTAKES
from tests.check import adapters

NAMED_SO = ("named", "among others", "another name", "unknown", "not seen")
TARGET = 0.95


class Trial(NamedTuple):
    """One mistake on one case in one profile, and what it was called."""

    mistake: str
    case: str
    profile: str
    called: str  # one of NAMED_SO
    instead: str  # the name, or the hints, that came first


def trials(cases: Sequence[LoadedCase], profiles: Sequence[str], share: float = 1.0) -> Iterator[Trial]:
    """Run the mistakes that the cases say they catch, or a seeded share of them."""
    sample = random.Random(0)
    for case in cases:
        for caught in case.description["catches"]:
            if caught["profile"] in profiles and sample.random() < share:
                yield trial(case, caught["profile"], caught["mistake"])


def trial(case: LoadedCase, profile: str, id: str) -> Trial:
    """Judge one mistake. "among others": these inputs cannot tell it from the mistake that is named first."""
    verdict = judge(case, profile, _rounded_elsewhere(adapters.mistaken(id), case, profile))
    names = verdict.diagnosis.mistakes if verdict.diagnosis else ()
    if id in names:
        called = "named" if names[0] == id else "among others"
        right = CONVENTION if MISTAKES[names[0]].convention else NAMED
        assert verdict.diagnosis is not None
        assert verdict.diagnosis.verdict == right
    else:
        called = "another name" if names else "unknown" if verdict.diagnosis else "not seen"
    return Trial(id, case.id, profile, called, _instead(verdict, names))


def _rounded_elsewhere(implementation: adapters.Adapter, case: LoadedCase, profile: str) -> adapters.Adapter:
    """Move every result by up to half its tolerance: the diagnosis runs the same mutants, with roundings of its own.

    What is right stays within its tolerance, as other roundings would.
    """
    noise = np.random.default_rng(zlib.crc32(f"{case.id} {profile}".encode()))

    def run(*args: Any) -> dict[str, np.ndarray]:
        found = implementation(*args)
        tol, want = case.tolerance(profile), case.expected
        return {name: _moved(x, want[name], tol[name].astype(np.float64), noise) for name, x in found.items()}

    return run


def _moved(x: np.ndarray, want: np.ndarray, tol: np.ndarray, noise: np.random.Generator) -> np.ndarray:
    if x.dtype.kind in "iub" or x.shape != want.shape:
        return x
    with np.errstate(all="ignore"):
        moved = (x.astype(np.float64) + tol * noise.uniform(-0.5, 0.5, tol.shape)).astype(x.dtype)
        was, is_ = (np.abs(array.astype(np.float64) - want) <= tol for array in (x, moved))
    return np.where(was & ~is_, x, moved)


def table(found: Sequence[Trial]) -> list[str]:
    """Return the table by op, and its sum."""
    lines = [f"{'op':26}{'trials':>8}" + "".join(f"{name:>14}" for name in NAMED_SO) + f"{'recognised':>12}"]
    op_of = {trial: trial.case.partition("/")[0] for trial in found}
    for op in (*dict.fromkeys(op_of.values()), "all"):
        some = [trial for trial in found if op in ("all", op_of[trial])]
        counts = Counter(trial.called for trial in some)
        cells = "".join(f"{counts[name]:14}" for name in NAMED_SO)
        lines.append(f"{op:26}{len(some):8}{cells}{recognised(some):12.1%}")
    return lines


def recognised(found: Sequence[Trial]) -> float:
    """Return the share that is called by its name, alone or among those that give the same on these inputs."""
    return sum(trial.called in NAMED_SO[:2] for trial in found) / len(found) if found else 1.0


def below(found: Sequence[Trial]) -> list[str]:
    """Return the mistakes that are recognised less often than the target, with what was said instead."""
    lines = []
    for id in dict.fromkeys(trial.mistake for trial in found):
        some = [trial for trial in found if trial.mistake == id]
        if recognised(some) < TARGET:
            lines.append(f"{id}: {recognised(some):.0%} of {len(some)}")
            missed = [trial for trial in some if trial.called not in NAMED_SO[:2]]
            lines += [f"    {t.case} {t.profile}: {t.called}: {t.instead}" for t in missed[:4]]
    return lines


def _instead(verdict: Verdict, names: Sequence[str]) -> str:
    if names:
        return names[0]
    return "; ".join(verdict.diagnosis.hints)[:160] if verdict.diagnosis else verdict.status


def main() -> None:
    """Print the table, and what falls short."""
    parser = argparse.ArgumentParser()
    parser.add_argument("pack", type=Path)
    parser.add_argument("--op", action="append", default=[])
    parser.add_argument("--profile", action="append", default=[])
    parser.add_argument("--share", type=float, default=1.0)
    given = parser.parse_args()
    start = time.perf_counter()
    cases = read(given.pack, given.op).cases
    found = list(trials(cases, given.profile or ["f64", "f32", "bf16", "f16"], given.share))
    print("\n".join([*table(found), "", *below(found)]))
    print(f"{UNKNOWN} or another name: {1 - recognised(found):.1%}; {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
