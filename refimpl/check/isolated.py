"""Ask a command about many cases, whatever it does: after a crash or a hang it is asked about the rest again."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from .entry import Answer
from .exchange import Results, read_results, stem, write_requests
from .figures import printable
from .limits import Limits
from .process import Ended, run
from .run import Pair
from .tensors import Unreadable, read_regular

GIVE_UP = 8  # cases in a row, each asked about alone, of which a command says nothing
FRUITLESS = 3  # runs without one line, after which each case is asked about alone


class Command(NamedTuple):
    """A program of the directory protocol. `breach` hears what it does wrong in no case in particular."""

    words: Sequence[str]
    limits: Limits
    breach: Callable[[str], None]


def answers(chosen: Sequence[Pair], command: Command) -> Iterator[tuple[Pair, Answer]]:
    """Yield an answer for every pair: one request a profile, and of what is left more, until nothing is.

    After a crash or a hang the first case without a line is asked about alone, then the others together; answered
    then, it is a breach all the same. Raises CannotStart.
    """
    for profile in dict.fromkeys(profile for _, profile in chosen):
        yield from _one_profile([pair for pair in chosen if pair[1] == profile], command)


def _one_profile(left: list[Pair], command: Command) -> Iterator[tuple[Pair, Answer]]:
    suspect, fruitless, silent = "", 0, 0
    while left:
        batch = left[:1] if suspect or fruitless >= FRUITLESS else left
        found, ended = _once(batch, command)
        silent = 0 if found else silent
        if suspect and found:
            command.breach(f"{suspect}; answered it alone")
        if not found and len(batch) == 1:
            found, silent = {batch[0][0].id: _blamed(ended)}, silent + 1
        fruitless += not found
        yield from ((pair, found[pair[0].id]) for pair in batch if pair[0].id in found)
        left = [pair for pair in left if pair[0].id not in found]
        said = ended.detail or "ended without a line"
        suspect = f"{said} while asked for {left[0][0].id}" if left and len(batch) > 1 else ""
        if silent == GIVE_UP:
            detail = f"the program answered nothing {GIVE_UP} times in a row; the last time it {said}"
            yield from ((pair, Answer("unasked", detail=detail, printed=ended.printed)) for pair in left)
            return


def _once(batch: Sequence[Pair], command: Command) -> tuple[dict[str, Answer], Ended]:
    """Run the command on some cases, in a folder of its own that is removed."""
    root = Path(tempfile.mkdtemp(prefix="refimpl-check-"))
    try:
        asked, out = root / "in", root / "out"
        written = write_requests(asked, batch)
        out.mkdir()
        words = [*command.words, "--in", str(asked), "--out", str(out)]
        ended = run(words, out, len(batch), command.limits)
        found = read_results(out, batch, finished=ended.status == "done")
        changed = _changed(asked, written)
        for breach in _breaches(found, changed, root):
            command.breach(breach)
        if ended.detail and len(found.answers) == len(batch):
            command.breach(f"after its last line it {ended.detail}")
        return {id: _with_change(id, answer, changed) for id, answer in found.answers.items()}, ended
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _blamed(ended: Ended) -> Answer:
    """Return what is said of a case that was asked about alone and got no line."""
    if ended.status == "done":
        problem = "the command ended without a line for it in results.jsonl"
        return Answer("ok", problems=(problem,), printed=ended.printed)
    return Answer(ended.status, detail=ended.detail, printed=ended.printed)


def _changed(asked: Path, written: Mapping[str, bytes]) -> dict[str, str]:
    """Return which files of a request are not what they were, and how."""
    changed = {}
    for name, data in written.items():
        try:
            if read_regular(asked / name, len(data)) != data:
                changed[name] = "changed"
        except Unreadable as error:
            changed[name] = "deleted" if str(error) == "missing" else "changed"
    return changed


def _breaches(found: Results, changed: Mapping[str, str], root: Path) -> list[str]:
    """Return what went wrong beside the cases."""
    breaches = list(found.breaches)
    if "request.json" in changed:
        breaches.append(f"it {changed['request.json']} request.json")
    beside = sorted(path.name for path in root.iterdir() if path.name not in ("in", "out")) if root.is_dir() else []
    if beside:
        breaches.append(f"it wrote {printable(', '.join(beside[:3]))} beside OUT")
    return breaches


def _with_change(id: str, answer: Answer, changed: Mapping[str, str]) -> Answer:
    name = f"{stem(id)}.in.safetensors"
    problem = [f"it {changed[name]} its input {name}"] if name in changed else []
    return answer._replace(problems=(*answer.problems, *problem))
