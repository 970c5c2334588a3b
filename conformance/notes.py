"""What stands below a framework's table: what is not claimed and why, and what does not pass and why."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from conformance.measure import OTHER, Result
from conformance.processes import Run
from refimpl.exact.profiles import PROFILES
from refimpl.fixtures.read import Pack
from refimpl.ops import OPS

SHOWN = 6  # cases by name


def not_claimed(run: Run, pack: Pack) -> str:
    """Return the reasons why cases of the listed ops are left out."""
    lines = []
    for op, claim in run.claims.ops.items():
        reasons: dict[str, set[str]] = {}
        for entry in claim.get("except", []):
            some = {case.id for case in pack.cases if fnmatchcase(case.id, entry["cases"])}
            reasons.setdefault(entry["reason"], set()).update(some)
        lines += [f"- `{op}`, {len(some)}: {reason}" for reason, some in reasons.items()]
    lines += _fewer_gradients(run)
    return (
        "\n".join(["Not claimed, of these ops: how many cases, and what there is instead.", "", *lines])
        if lines
        else ""
    )


def _fewer_gradients(run: Run) -> list[str]:
    """Return a line for the ops of which some gradients are not claimed, and one for those of which none is."""
    lines, without = [], []
    for op, claim in run.claims.ops.items():
        if claim["gradients"] is False and OPS[op].gradients:
            without.append(f"`{op}`")
        elif isinstance(claim["gradients"], list):
            lines.append(f"- `{op}`: gradients of {_list(claim['gradients'])} only")
    return [*lines, *([f"- no gradients: {_list(without)}"] if without else [])]


def failures(run: Run) -> str:
    """Return the table of what does not pass, a line a reason."""
    groups: dict[tuple[str, str, str], list[Result]] = {}
    for one in run.results:
        if one.reason:
            kind = "other convention" if one.status == OTHER else "fails"
            groups.setdefault((kind, one.reason, one.seen), []).append(one)
    if not groups:
        return "Nothing that is claimed fails."
    lines = ["| verdict | why | cases | profiles | results | reproducer |", "|---|---|---|---|---|---|"]
    for (kind, reason, seen), some in groups.items():
        cases = list(dict.fromkeys(f"`{one.id}`" for one in some))
        more = [f"and {len(cases) - SHOWN} more"] if len(cases) > SHOWN else []
        mistakes = dict.fromkeys(f"`{one.mistake}`" for one in some if one.mistake)
        profiles = [profile for profile in PROFILES if any(one.profile == profile for one in some)]
        results = sorted({name for one in some for name in one.failing})
        verdict = f"{kind}: {_list(mistakes)}" if mistakes else kind
        columns = (
            verdict,
            reason,
            _list([*cases[:SHOWN], *more]),
            _list(profiles),
            _list(results) or "it raises",
            _link(seen),
        )
        lines.append(f"| {' | '.join(columns)} |")
    return "\n".join(lines)


def _link(seen: str) -> str:
    return f"[{seen.rsplit('/', 1)[-1]}]({seen})" if seen else "–"


def _list(words: Iterable[str]) -> str:
    return ", ".join(words)
