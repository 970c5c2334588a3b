"""What the checker says of one case in one profile."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ..fixtures.read import LoadedCase
from .compare import Comparison, compare, numeric
from .diagnose import Diagnosis, diagnose
from .entry import Answer, Implementation, ask
from .request import request, wanted


class Verdict(NamedTuple):
    """One case in one profile."""

    id: str
    op: str
    profile: str
    comment: str
    status: str  # "passed", "suspicious", "failed", "unsupported"; by a claims file "not claimed", "known failure"
    answer: Answer
    outputs: dict[str, Comparison]  # of what was returned, in the order of what was wanted
    diagnosis: Diagnosis | None = None  # where values are out
    claim: str = ""  # why it is not claimed, or why it is known to fail

    @property
    def failing(self) -> dict[str, Comparison]:
        return {name: found for name, found in self.outputs.items() if not found.ok}

    @property
    def budget(self) -> float:
        return max((found.budget for found in self.outputs.values()), default=0.0)

    @property
    def honest(self) -> float:
        return max((found.honest for found in self.outputs.values()), default=0.0)


def claimed(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Return the verdicts on what was asked about."""
    return [v for v in verdicts if v.status != "not claimed"]


def judge(case: LoadedCase, profile: str, implementation: Implementation, *, explain: bool = True) -> Verdict:
    """Ask an implementation about a case and compare; with `explain` say what a wrong result looks like."""
    return assess(case, profile, ask(implementation, request(case, profile)), explain=explain)


def assess(case: LoadedCase, profile: str, answer: Answer, *, explain: bool = True) -> Verdict:
    """Compare an answer with the expected values."""
    want, tol, honest = case.expected, case.tolerance(profile), case.honest(profile)
    outputs = {
        name: compare(answer.outputs[name], want[name], tol.get(name), profile=profile, honest=honest[name])
        for name in wanted(case)
        if name in answer.outputs
    }
    status = _status(answer, outputs)
    verdict = Verdict(case.id, case.op, profile, case.description["comment"], status, answer, outputs)
    comparable = all(numeric(array.dtype) for array in answer.outputs.values())
    if explain and comparable and any(found.off for found in outputs.values()):
        got = {name: array.astype(np.float64) for name, array in answer.outputs.items()}
        verdict = verdict._replace(diagnosis=diagnose(case, profile, got, outputs))
    return verdict


def _status(answer: Answer, outputs: dict[str, Comparison]) -> str:
    if answer.status == "unsupported":
        return "unsupported"
    if answer.status != "ok" or answer.problems or not all(found.ok for found in outputs.values()):
        return "failed"
    return "suspicious" if any(found.suspicious for found in outputs.values()) else "passed"
