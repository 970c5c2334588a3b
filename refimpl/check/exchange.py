"""The directory protocol: a folder of requests for a command, and a folder of its results.

    COMMAND --in REQ --out OUT

REQ/request.json lists the cases of one profile; REQ/<op>__<slug>.in.safetensors holds in.<name>, cot.<name> in its
dtype. OUT/<op>__<slug>.safetensors holds what `want` names; OUT/results.jsonl gets a line a case, after its file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..fixtures import canonical
from .entry import Answer, Request
from .figures import printable
from .request import request, wanted
from .run import Pair
from .tensors import Unreadable, read_regular, read_tensors, write_tensors

FORMAT = 1
PACKAGE = "refimpl.check"
LINE = 1 << 16  # bytes of results.jsonl a case
DETAIL = 300  # characters kept of a line's detail


class Results(NamedTuple):
    """What a run of the command left behind."""

    answers: dict[str, Answer]  # by case id, of those with a line
    breaches: list[str]  # of the protocol, by no case in particular


def stem(id: str) -> str:
    """Return a case's id as a file name."""
    return id.replace("/", "__")


def write_requests(folder: Path, chosen: Sequence[Pair]) -> dict[str, bytes]:
    """Write what to ask about some cases; return name -> content of each file."""
    folder.mkdir()
    files: dict[str, bytes] = {}
    listed = []
    for case, profile in chosen:
        asked, name = request(case, profile), f"{stem(case.id)}.in.safetensors"
        tensors = {key if key.startswith("cot.") else f"in.{key}": array for key, array in asked.inputs.items()}
        files[name] = write_tensors(folder / name, tensors)
        listed.append(_entry(case.id, profile, case.description["conventions"], asked, name))
    files["request.json"] = canonical.dump({"format": FORMAT, "cases": listed})
    (folder / "request.json").write_bytes(files["request.json"])
    return files


def read_requests(folder: Path) -> list[dict[str, Any]]:
    """Return the cases that a request lists; ValueError where it follows no schema."""
    asked = json.loads((folder / "request.json").read_bytes())
    if error := canonical.validate("request", asked, PACKAGE):
        raise ValueError(f"request.json: {error}")
    return asked["cases"]


def read_results(out: Path, chosen: Sequence[Pair], finished: bool = True) -> Results:
    """Return what the lines and files of a run say, believing none of it. finished: it was not stopped."""
    pairs = {case.id: (case, profile) for case, profile in chosen}
    if out.is_symlink() or not out.is_dir():
        return Results({}, ["OUT is no folder any more"])
    lines, breaches = _lines(out, pairs, finished)
    answers = {id: _answer(out, pairs[id], said) for id, said in lines.items()}
    known = {"results.jsonl", *(f"{stem(id)}.safetensors" for id in pairs)}
    if stray := sorted(printable(path.name) for path in out.iterdir() if path.name not in known):
        breaches.append(f"OUT holds {', '.join(stray[:3])}{', …' if len(stray) > 3 else ''}, which belongs to no case")
    return Results(answers, breaches)


def _entry(id: str, profile: str, conventions: list[str], asked: Request, file: str) -> dict[str, Any]:
    return {
        "id": id,
        "op": asked.op,
        "profile": profile,
        "conventions": conventions,
        "params": asked.params,
        "want": asked.want,
        "file": file,
    }


def _lines(out: Path, ids: Mapping[str, Any], finished: bool) -> tuple[dict[str, list[dict[str, str]]], list[str]]:
    """Return the lines of results.jsonl by case, and what is wrong with the others."""
    try:
        data = read_regular(out / "results.jsonl", LINE * (len(ids) + 16))
    except Unreadable as error:
        return {}, [] if str(error) == "missing" else [f"results.jsonl: {error}"]
    found: dict[str, list[dict[str, str]]] = {}
    breaches = []
    lines = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        said, wrong = _line(line, ids) if line.strip() else (None, "")
        if said is not None:
            found.setdefault(said["id"], []).append(said)
        elif wrong and (finished or number < len(lines)):  # else stopped while it wrote its last line
            breaches.append(f"results.jsonl line {number}: {printable(wrong)[:DETAIL]}")
    return found, breaches[:3]


def _line(line: bytes, ids: Mapping[str, Any]) -> tuple[dict[str, str] | None, str]:
    """Return a line, or None and what is wrong with it."""
    try:
        said = json.loads(line, parse_constant=_refuse, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        return None, f"not JSON: {error}"
    if wrong := canonical.validate("results", said, PACKAGE):
        return None, wrong
    return (said, "") if said["id"] in ids else (None, f"there is no case {said['id'][:80]!r} in this request")


def _answer(out: Path, pair: Pair, lines: Sequence[Mapping[str, str]]) -> Answer:
    """Return what one case's first line and file say."""
    status, detail = lines[0]["status"], printable(lines[0].get("detail", ""))[:DETAIL]
    problems = [f"results.jsonl has {len(lines)} lines for it"] if len(lines) > 1 else []
    if status != "ok":
        return Answer(status, problems=tuple(problems), detail=detail)
    case, _ = pair
    want, name = wanted(case), f"{stem(case.id)}.safetensors"
    try:
        outputs, others = read_tensors(out / name, want, sum(array.size for array in case.expected.values()))
    except Unreadable as error:
        return Answer("ok", problems=(*problems, f"{name}: {error}{f' ({detail})' if detail else ''}"))
    problems += [f"{name} is missing" for name in want if name not in outputs]
    problems += [f"{name} was not asked for" for name in others[:3]]
    if problems and detail and detail not in "; ".join(problems):
        problems.append(f"it says: {detail}")
    return Answer("ok", outputs, tuple(problems), detail)


def unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; ValueError where a key stands twice, of which the last would win."""
    for i, (key, _) in enumerate(pairs):
        if any(key == other for other, _ in pairs[:i]):
            raise ValueError(f"{key!r} stands twice")
    return dict(pairs)


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")
