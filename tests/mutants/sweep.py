"""Many mutants, in processes of their own, and what is known of those that no input can tell."""

from __future__ import annotations

import multiprocessing
import random
import resource
import tomllib
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

from refimpl.fixtures.read import LoadedCase, read

from .judge import Finding, Question, judge, questions, reach
from .mutate import Mutant, mutants
from .sources import modules

MEMORY = 4 * 2**30  # bytes of address space a process may take
CHUNK = 24  # mutants a task
EQUIVALENT = Path(__file__).with_name("equivalent.toml")
Place = tuple[str, int]  # a module, and the place of a mutant in `mutants(module)`
Found = dict[Place, Finding]


class Equivalent(NamedTuple):
    """Why no case can catch a mutant, and in which profiles that holds."""

    reason: str
    profiles: tuple[str, ...]


class Outcome(NamedTuple):
    """A sweep: what each mutant came to, and what the list of equivalents says of them."""

    found: dict[str, tuple[Mutant, Finding]]
    equivalent: dict[str, Equivalent]
    stale: list[str]

    @property
    def survivors(self) -> list[str]:
        """Keys of the mutants that live without an excuse."""
        return [key for key, (_, f) in self.found.items() if f.verdict == "survived" and key not in self.equivalent]

    @property
    def caught_after_all(self) -> list[str]:
        """Keys listed as equivalent that a case catches."""
        return [key for key, (_, f) in self.found.items() if f.verdict != "survived" and key in self.equivalent]


def equivalents(profile: str) -> dict[str, Equivalent]:
    """Return key -> why no case of a profile can catch that mutant."""
    groups = tomllib.loads(EQUIVALENT.read_text())["equivalent"]
    entries = [(key, group) for group in groups for key in group["mutants"]]
    keys = [key for key, _ in entries]
    if twice := sorted({key for key in keys if keys.count(key) > 1}):
        raise ValueError(f"{EQUIVALENT.name}: listed twice: {twice}")
    found = {key: Equivalent(group["reason"], tuple(group.get("profiles", ("f64", "f32")))) for key, group in entries}
    return {key: entry for key, entry in found.items() if profile in entry.profiles}


def chosen(modules_wanted: Sequence[str], sample: int | None, seed: int) -> list[Place]:
    """Return the places of all mutants of some modules, or of a seeded sample of them."""
    places = [(name, i) for name in modules_wanted or modules() for i in range(len(mutants(name)))]
    return places if sample is None else sorted(random.Random(seed).sample(places, min(sample, len(places))))


def sweep(
    places: Sequence[Place], fixtures: Path, profile: str, jobs: int, done: Callable[[str], None], *, complete: bool
) -> Outcome:
    """Judge mutants by the pack; `done` hears of each one. complete: all of each module, so stale entries show."""
    found = _judged(places, fixtures, profile, jobs, done)
    named = {mutants(module)[i].key: (mutants(module)[i], found[module, i]) for module, i in places}
    touched = {module for module, _ in places}
    listed = {key: entry for key, entry in equivalents(profile).items() if key.partition(":")[0] in touched}
    unknown = {key for key in equivalents(profile) if key.partition(":")[0] not in modules()}
    stale = [key for key in listed if complete and key not in named] + sorted(unknown)
    return Outcome(named, listed, stale)


def _judged(places: Sequence[Place], fixtures: Path, profile: str, jobs: int, done: Callable[[str], None]) -> Found:
    """Return what each mutant came to."""
    chunks = [places[i : i + CHUNK] for i in range(0, len(places), CHUNK)]
    context, found = multiprocessing.get_context("spawn"), Found()
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_prepare, initargs=(fixtures, profile)) as executor:
        futures = {executor.submit(_work, chunk): chunk for chunk in chunks}
        for future in as_completed(futures):
            found |= future.result()
            for module, _ in futures[future]:
                done(module)
    return found


_MET: dict[tuple[str, str], list[Question]] = {}  # of this process


def _prepare(fixtures: Path, profile: str) -> None:
    """Read the pack once a process, and see which functions its cases call."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    cases: list[LoadedCase] = read(fixtures).cases
    _MET.update(reach(questions(cases, profile)))


def _work(places: Sequence[Place]) -> Found:
    found = Found()
    for module, i in places:
        mutant = mutants(module)[i]
        found[module, i] = judge(mutant, _MET[mutant.module, mutant.function])
    return found
