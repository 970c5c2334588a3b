"""Cases as pytest parameters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import require_one_of
from ..exact.profiles import PROFILES
from ..fixtures.read import LoadedCase
from ..ops import OPS
from .claims import Claims, divide, load_claims
from .command import open_pack
from .entry import Unsupported, answer_of
from .known import held_to
from .report import plain
from .request import request, wanted
from .run import pairs
from .verdict import assess


class CheckCase:
    """One case in one profile: what to compute, and what it has to be."""

    def __init__(self, case: LoadedCase, profile: str, claims: Claims | None = None) -> None:
        self.id, self.op, self.profile = case.id, case.op, profile
        self._case, self._claims = case, claims

    def __str__(self) -> str:
        return f"{self.id}-{self.profile}"

    __repr__ = __str__

    @property
    def comment(self) -> str:
        """Why the case exists."""
        return self._case.description["comment"]

    @property
    def params(self) -> dict[str, Any]:
        """Options of the op, by name."""
        return request(self._case, self.profile).params

    @property
    def inputs(self) -> dict[str, np.ndarray]:
        """Arrays in the profile's dtype, "q" and "cot.y" alike; a new copy at every access."""
        return request(self._case, self.profile).inputs

    @property
    def want(self) -> list[str]:
        """Names that `assert_matches` needs: outputs, then gradients as "grad.q"."""
        return wanted(self._case)

    @property
    def expected(self) -> dict[str, np.ndarray]:
        """The proven values, float64."""
        return self._case.expected

    def assert_matches(self, outputs: Mapping[str, Any]) -> None:
        """Raise AssertionError, with the checker's report, unless every wanted output is within its tolerance.

        A known failure of the claims raises Unsupported: pytest skips the test.
        """
        __tracebackhide__ = True
        verdict = assess(self._case, self.profile, answer_of(outputs, self.want))
        if self._claims is not None:
            verdict = held_to(self._claims, verdict, forward=not any(name.startswith("grad.") for name in self.want))
        if verdict.status == "known failure":
            raise Unsupported(f"known failure: {verdict.claim}")
        if verdict.status == "failed":
            raise AssertionError(f"{self}\n{plain(verdict)}")


def cases(
    op: str | None = None,
    profile: str = "f32",
    fixtures: Path | str | None = None,
    *,
    forward: bool = False,
    claims: Path | str | None = None,
) -> list[CheckCase]:
    """Return the cases of an op, or of all, in a profile.

        @pytest.mark.parametrize("case", refimpl.check.cases(op="rope"), ids=str)

    fixtures: a pack; None builds what is needed once into the user's cache directory. forward: no gradients. claims: a
    file of claims, which leaves out what it does not claim. Raises ValueError for an unknown op or profile or a wrong
    file of claims; FixtureError for a pack that is damaged or has no such case.
    """
    if op is not None:
        require_one_of("op", op, list(OPS))
    require_one_of("profile", profile, list(PROFILES))
    held = None if claims is None else load_claims(claims)
    pack = open_pack(fixtures, [] if op is None else [op], gradients=not forward)
    found = pairs(pack.cases, [profile])
    if not found:
        raise ValueError(f"profile: got {profile!r}, which no case of {op or 'the pack'} offers")
    if held is not None:
        found, _ = divide(held, found)
    if not found:
        raise ValueError(f"claims: {claims} claims no case of {op or 'the pack'} in {profile}")
    return [CheckCase(case, profile, held) for case, profile in found]
