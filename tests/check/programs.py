"""A program of the directory protocol that answers right, and in one way or another does not.

python tests/check/programs.py HOW --in REQ --out OUT
"""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from refimpl.check.exchange import read_requests, stem
from refimpl.check.tensors import load_tensors, write_tensors
from tests.check.adapters import right

VICTIM = "rope/interleaved"  # the case that is done wrong
Arrays = dict[str, np.ndarray]


def main(how: str, asked: Path, out: Path) -> None:
    """Answer every case right, but the victim as `how` says."""
    with (out / "results.jsonl").open("w") as lines:
        for case in read_requests(asked):
            given = load_tensors((asked / case["file"]).read_bytes())
            inputs = {name.removeprefix("in."): array for name, array in given.items()}
            found = right(case["op"], case["params"], inputs, case["want"])
            path, line = out / f"{stem(case['id'])}.safetensors", json.dumps({"id": case["id"], "status": "ok"}) + "\n"
            if case["id"] == VICTIM:
                line = HOW[how](path, found, line, asked / case["file"]) or line
            else:
                write_tensors(path, found)
            lines.write(line)
            lines.flush()


def right_(path: Path, found: Arrays, line: str, asked: Path) -> None:
    write_tensors(path, found)


def aborts(path: Path, found: Arrays, line: str, asked: Path) -> None:
    sys.stderr.write("out of shared memory\n\x1b[31m")
    sys.stderr.flush()
    signal.signal(signal.SIGABRT, signal.SIG_DFL)
    os.abort()


def exits(path: Path, found: Arrays, line: str, asked: Path) -> None:
    sys.exit(7)


def stops(path: Path, found: Arrays, line: str, asked: Path) -> None:
    sys.exit(0)


def hangs(path: Path, found: Arrays, line: str, asked: Path) -> None:
    time.sleep(600)


def hangs_in_a_child(path: Path, found: Arrays, line: str, asked: Path) -> None:
    if os.fork() == 0:
        (path.parent / "child").write_text(str(os.getpid()))
    time.sleep(600)


def half_a_line(path: Path, found: Arrays, line: str, asked: Path) -> None:
    with (path.parent / "results.jsonl").open("a") as lines:
        lines.write(line[:10])
    os._exit(1)


def a_huge_file(path: Path, found: Arrays, line: str, asked: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 24)


def a_file_beyond_the_limit(path: Path, found: Arrays, line: str, asked: Path) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    with path.open("wb") as file:
        while True:
            file.write(b"x" * (1 << 20))


def many_files(path: Path, found: Arrays, line: str, asked: Path) -> None:
    for i in range(600):
        (path.parent / f"{i}.bin").write_bytes(b"x" * (1 << 18))
        time.sleep(0.005)
    time.sleep(600)


def deletes_its_input(path: Path, found: Arrays, line: str, asked: Path) -> None:
    write_tensors(path, found)
    asked.unlink()


def changes_its_input(path: Path, found: Arrays, line: str, asked: Path) -> None:
    write_tensors(path, found)
    asked.write_bytes(asked.read_bytes()[:-1] + b"?")


def a_name_outside(path: Path, found: Arrays, line: str, asked: Path) -> str:
    write_tensors(path.parent.parent / "evil.safetensors", found)
    return json.dumps({"id": "../evil", "status": "ok"}) + "\n"


def a_link(path: Path, found: Arrays, line: str, asked: Path) -> None:
    path.symlink_to("/etc/passwd")


def a_pipe(path: Path, found: Arrays, line: str, asked: Path) -> None:
    os.mkfifo(path)


def a_folder(path: Path, found: Arrays, line: str, asked: Path) -> None:
    path.mkdir()


def no_json_number(path: Path, found: Arrays, line: str, asked: Path) -> str:
    return f'{{"id": "{VICTIM}", "status": "ok", "detail": NaN}}\n'


def an_extra_field(path: Path, found: Arrays, line: str, asked: Path) -> str:
    return json.dumps({"id": VICTIM, "status": "ok", "budget": 0}) + "\n"


def two_lines(path: Path, found: Arrays, line: str, asked: Path) -> str:
    write_tensors(path, found)
    return line + line


def an_unknown_case(path: Path, found: Arrays, line: str, asked: Path) -> str:
    write_tensors(path, found)
    return line + line.replace("interleaved", "no_such_case")


def no_file(path: Path, found: Arrays, line: str, asked: Path) -> None:
    pass


def a_missing_tensor(path: Path, found: Arrays, line: str, asked: Path) -> None:
    write_tensors(path, {name: array for name, array in found.items() if name != "grad.cos"})


def an_extra_tensor(path: Path, found: Arrays, line: str, asked: Path) -> None:
    write_tensors(path, found | {"lse": np.zeros(3)})


def a_wrong_dtype(path: Path, found: Arrays, line: str, asked: Path) -> None:
    write_tensors(path, found | {"y": found["y"].astype(np.int32)})


def a_wrong_shape(path: Path, found: Arrays, line: str, asked: Path) -> None:
    write_tensors(path, found | {"y": found["y"][0]})


def truncated(path: Path, found: Arrays, line: str, asked: Path) -> None:
    write_tensors(path, found)
    path.write_bytes(path.read_bytes()[:-5])


def a_header_of_exabytes(path: Path, found: Arrays, line: str, asked: Path) -> None:
    path.write_bytes((1 << 60).to_bytes(8, "little") + b"{}")


def nan(path: Path, found: Arrays, line: str, asked: Path) -> None:
    write_tensors(path, {name: array * np.asarray(np.nan, array.dtype) for name, array in found.items()})


def prints_garbage(path: Path, found: Arrays, line: str, asked: Path) -> None:
    write_tensors(path, found)
    sys.stdout.buffer.write(bytes(range(256)) * (1 << 14))
    sys.stdout.flush()
    sys.exit(3)


def an_error(path: Path, found: Arrays, line: str, asked: Path) -> str:
    return json.dumps({"id": VICTIM, "status": "error", "detail": "no kernel for \x1b[2J this"}) + "\n"


def unsupported(path: Path, found: Arrays, line: str, asked: Path) -> str:
    return json.dumps({"id": VICTIM, "status": "unsupported", "detail": "no rope"}) + "\n"


def moves_out(path: Path, found: Arrays, line: str, asked: Path) -> None:
    path.parent.rename(path.parent.parent / "elsewhere")
    path.parent.symlink_to("/etc")


HOW: dict[str, Any] = {
    name: function for name, function in list(globals().items()) if getattr(function, "__module__", "") == __name__
}

if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[3]), Path(sys.argv[5]))
