"""A Python entry as a program of the directory protocol, so that what it does to its process stays there.

python -m refimpl.check.worker MODULE:FUNCTION --in REQ --out OUT
python -m refimpl.check.worker MODULE:FUNCTION                       only load it: exit status 2 where that fails
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

from .entry import Answer, Implementation, Request, ask
from .exchange import read_requests, stem
from .load import EntryError, load
from .tensors import CODES, load_tensors, write_tensors

UNLOADABLE = 2


def main() -> None:
    """Answer every case of a request, one line each, the file first."""
    parser = argparse.ArgumentParser(prog="python -m refimpl.check.worker")
    parser.add_argument("entry", metavar="MODULE:FUNCTION")
    parser.add_argument("--in", dest="asked", type=Path)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    try:
        implementation = load(given.entry)
    except EntryError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(UNLOADABLE)
    if given.asked and given.out:
        answer_all(implementation, given.asked, given.out)


def answer_all(implementation: Implementation, asked: Path, out: Path) -> None:
    """Ask an implementation about every case of a request."""
    with (out / "results.jsonl").open("w", encoding="utf-8") as lines:
        for case in read_requests(asked):
            given = load_tensors((asked / case["file"]).read_bytes())
            inputs = {name.removeprefix("in."): array for name, array in given.items()}
            answer = ask(implementation, Request(case["op"], case["params"], inputs, case["want"]))
            problems = [*answer.problems, *_write(out / f"{stem(case['id'])}.safetensors", answer)]
            detail = answer.detail or "; ".join(problems)
            lines.write(json.dumps({"id": case["id"], "status": answer.status, "detail": detail}) + "\n")
            lines.flush()
            sys.stdout.write(answer.printed)
            sys.stdout.flush()


def _write(path: Path, answer: Answer) -> list[str]:
    """Write what can be written, and return what cannot. A name that was not asked for gets a tensor of no element."""
    if answer.status != "ok":
        return []
    fit = {name: array for name, array in answer.outputs.items() if array.dtype.newbyteorder("=") in CODES}
    write_tensors(path, fit | {name: np.zeros(0) for name in answer.extra})
    return [f"{name} has dtype {array.dtype}" for name, array in answer.outputs.items() if name not in fit]


if __name__ == "__main__":
    main()
