"""A program of the directory protocol that copies prepared answers, and does wrong on purpose where it is told to.

python programs.py ANSWERS {"<case id>": "<how>", ...} --in REQ --out OUT        needs the standard library only
"""

import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import NamedTuple


class Here(NamedTuple):
    """What a way to do wrong may need to know."""

    id: str
    out: Path
    path: Path  # of the answer
    given: Path  # the input file
    line: str


def copies(here: Here) -> None:
    profile = json.loads((here.given.parent / "request.json").read_text())["cases"][0]["profile"]
    shutil.copy(Path(sys.argv[1]) / profile / here.path.name, here.path)


def aborts(here: Here) -> None:
    sys.stderr.write("out of shared memory\n\x1b[31m")
    sys.stderr.flush()
    signal.signal(signal.SIGABRT, signal.SIG_DFL)
    os.abort()


def exits(here: Here) -> None:
    sys.exit(7)


def exits_in_company(here: Here) -> None:
    if len(json.loads((here.given.parent / "request.json").read_text())["cases"]) > 1:
        os._exit(7)
    copies(here)


def hangs_in_company(here: Here) -> None:
    if len(json.loads((here.given.parent / "request.json").read_text())["cases"]) > 1:
        time.sleep(600)
    copies(here)


def stops(here: Here) -> None:
    sys.exit(0)


def hangs(here: Here) -> None:
    time.sleep(600)


def leaves_a_child(here: Here) -> None:
    copies(here)
    if os.fork() == 0:
        (Path(sys.argv[1]) / "child").write_text(str(os.getpid()))
        time.sleep(600)


def half_a_line(here: Here) -> None:
    with (here.out / "results.jsonl").open("a") as lines:
        lines.write(here.line[:10])
    os._exit(1)


def crashes_at_the_end(here: Here) -> None:
    import atexit

    copies(here)
    atexit.register(os._exit, 5)


def a_huge_file(here: Here) -> None:
    with here.path.open("wb") as file:
        file.truncate(1 << 22)


def a_file_beyond_the_limit(here: Here) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    with here.path.open("wb") as file:
        while True:
            file.write(b"x" * (1 << 20))


def many_files(here: Here) -> None:
    for i in range(100):
        (here.out / f"{i}.bin").write_bytes(b"x" * (1 << 20))
    time.sleep(600)


def takes_memory(here: Here) -> None:
    _ = b"x" * (1 << 32)


def deletes_its_input(here: Here) -> None:
    copies(here)
    here.given.unlink()


def changes_its_input(here: Here) -> None:
    copies(here)
    here.given.write_bytes(here.given.read_bytes()[:-1] + b"?")


def deletes_the_request(here: Here) -> None:
    copies(here)
    (here.given.parent / "request.json").unlink()


def a_name_outside(here: Here) -> str:
    (here.out.parent / "evil.safetensors").write_bytes(b"")
    return json.dumps({"id": "../evil", "status": "ok"}) + "\n"


def a_link(here: Here) -> None:
    here.path.symlink_to("/etc/passwd")


def a_pipe(here: Here) -> None:
    os.mkfifo(here.path)


def a_folder(here: Here) -> None:
    here.path.mkdir()


def a_link_to_itself_for_lines(here: Here) -> None:
    copies(here)
    (here.out / "results.jsonl").unlink()
    (here.out / "results.jsonl").symlink_to("/dev/zero")


def no_json_number(here: Here) -> str:
    return here.line.replace('"ok"', '"ok", "detail": NaN')


def no_utf8(here: Here) -> str:
    return here.line.replace('"ok"', '"\udcff"')


def deep_json(here: Here) -> str:
    return "[" * 100_000 + "\n"


def an_extra_field(here: Here) -> str:
    return here.line.replace('"ok"', '"ok", "budget": 0')


def a_key_twice(here: Here) -> str:
    copies(here)
    return here.line.replace('"status"', '"status": "error", "status"')


def two_lines(here: Here) -> str:
    copies(here)
    return here.line * 2


def an_unknown_case(here: Here) -> str:
    copies(here)
    return here.line + here.line.replace(here.id, "rope/no_such_case")


def no_file(here: Here) -> None:
    pass


def a_header_of_exabytes(here: Here) -> None:
    here.path.write_bytes((1 << 60).to_bytes(8, "little") + b"{}")


def truncated(here: Here) -> None:
    copies(here)
    here.path.write_bytes(here.path.read_bytes()[:-5])


def a_stray_file(here: Here) -> None:
    copies(here)
    (here.out / "notes\x1b.txt").write_text("")


def prints_garbage(here: Here) -> None:
    sys.stdout.buffer.write(bytes(range(256)) * (1 << 14))
    sys.stdout.flush()
    os._exit(3)


def an_error(here: Here) -> str:
    return json.dumps({"id": here.id, "status": "error", "detail": "no kernel for \x1b[2J this"}) + "\n"


def unsupported(here: Here) -> str:
    return json.dumps({"id": here.id, "status": "unsupported", "detail": "no such op"}) + "\n"


def moves_out(here: Here) -> None:
    here.out.rename(here.out.parent / "elsewhere")
    here.out.symlink_to("/etc")


def main() -> None:
    """Answer case after case."""
    plan, asked, out = json.loads(sys.argv[2]), Path(sys.argv[4]), Path(sys.argv[6])
    with (out / "results.jsonl").open("w", encoding="utf-8", errors="surrogateescape") as lines:
        for case in json.loads((asked / "request.json").read_text())["cases"]:
            line = json.dumps({"id": case["id"], "status": "ok"}) + "\n"
            path = out / f"{case['id'].replace('/', '__')}.safetensors"
            how = globals()[plan.get(case["id"], "copies")]
            lines.write(how(Here(case["id"], out, path, asked / case["file"], line)) or line)
            lines.flush()


if __name__ == "__main__":
    main()
