"""The cases that meet a function, and what they say of a mutant of it."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from refimpl.check.compare import compare
from refimpl.check.entry import Request
from refimpl.check.request import request
from refimpl.fixtures.golden import Arrays
from refimpl.fixtures.read import LoadedCase
from refimpl.ops import run

from .mutate import Mutant, applied
from .sources import function, functions, modules

SECONDS = 5.0  # a case takes milliseconds
SEPARATED = 10.0  # budgets: the rule for known mistakes
VERDICTS = ("raised", "hung", "form", "separated", "narrow", "survived")


class Question(NamedTuple):
    """A case in one profile: what to compute, and what it has to be."""

    id: str
    profile: str
    request: Request
    expected: Arrays
    tolerance: Arrays
    honest: dict[str, float]


class Finding(NamedTuple):
    """What the pack says of a mutant, by the case that is furthest off."""

    verdict: str  # one of VERDICTS
    budget: float = 0.0
    case: str = ""
    output: str = ""


def questions(cases: Iterable[LoadedCase], profile: str) -> list[Question]:
    """Return the cases that offer a profile."""
    chosen = (case for case in cases if profile in case.profiles)
    return [
        Question(case.id, profile, request(case, profile), case.expected, case.tolerance(profile), case.honest(profile))
        for case in chosen
    ]


def answer(question: Question) -> dict[str, Any]:
    op, params, inputs, want = question.request
    with np.errstate(all="ignore"):
        return run(op, params, inputs, want, xp=np)


def reach(asked: Sequence[Question]) -> dict[tuple[str, str], list[Question]]:
    """Run every case once, and return which of them call a function."""
    names = {function(m, f).__code__: (m, f) for m in modules() for f in functions(m)}
    met: dict[tuple[str, str], list[Question]] = {name: [] for name in names.values()}
    for question in asked:
        seen = set()

        def note(frame: Any, event: str, arg: object, seen: set[Any] = seen) -> None:
            if event == "call":
                seen.add(frame.f_code)

        sys.setprofile(note)
        try:
            answer(question)
        finally:
            sys.setprofile(None)
        for code in seen & names.keys():
            met[names[code]].append(question)
    return met


def judge(mutant: Mutant, asked: Sequence[Question]) -> Finding:
    """Ask a mutant the cases one after the other, until one of them separates it."""
    worst = Finding("survived")
    with applied(mutant):
        for question in asked:
            found = _asked(question)
            if VERDICTS.index(found.verdict) < VERDICTS.index("narrow"):
                return found
            if found.budget > worst.budget:
                worst = found
    return worst


def _asked(question: Question) -> Finding:
    """Return what one case says of the ops as they are now."""
    try:
        with _limited(SECONDS):
            got = {name: np.asarray(array) for name, array in answer(question).items()}
            found = {
                name: compare(
                    got[name],
                    want,
                    question.tolerance.get(name),
                    profile=question.profile,
                    honest=question.honest[name],
                )
                for name, want in question.expected.items()
            }
    except TimeoutError:
        return Finding("hung", np.inf, question.id)
    except (Exception, RecursionError) as error:
        return Finding("raised", np.inf, question.id, type(error).__name__)
    output = max(found, key=lambda name: (not found[name].ok, found[name].budget))
    comparison = found[output]
    if comparison.ok:
        return Finding("survived", comparison.budget, question.id, output)
    if comparison.at is None or comparison.out == 0:
        return Finding("form", np.inf, question.id, output)
    verdict = "separated" if comparison.budget >= SEPARATED else "narrow"
    return Finding(verdict, comparison.budget, question.id, output)


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in what takes longer."""

    def end(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
