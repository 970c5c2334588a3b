"""Whatever an entry does to the process that it runs in, the report comes, and the exit status fits it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOES = {
    "an exit handler": "import atexit, os; atexit.register(os._exit, 0)",
    "a thread": "import threading, time; threading.Thread(target=time.sleep, args=(600,)).start()",
    "another folder": "import os; os.chdir('/')",
    "closed streams": "import sys; sys.stdout.close(); sys.__stdout__.close()",
    "SystemExit": "raise SystemExit(0)",
    "KeyboardInterrupt": "raise KeyboardInterrupt",
}


@pytest.mark.parametrize("wrong", [False, True])
@pytest.mark.parametrize("does", DOES)
def test_the_report_comes(folder: Path, tmp_path: Path, does: str, wrong: bool) -> None:
    (tmp_path / "foreign.py").write_text(
        "from tests.check import adapters\n"
        "def run(*asked):\n"
        f"    found = adapters.{'swapped' if wrong else 'right'}(*asked)\n"
        f"    {DOES[does]}\n"
        "    return found\n"
    )
    words = ["--entry", "foreign:run", "--op", "rope", "--profile", "f32", "--json", "report.json"]
    ended = subprocess.run(
        [sys.executable, "-m", "refimpl", "check", "--fixtures", os.path.relpath(folder, tmp_path), *words],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    raises = does in ("SystemExit", "KeyboardInterrupt")
    status = int(wrong or raises)
    said = ("FAILED  2 of 2" if raises else "FAILED  1 of 2") if status else "PASSED  2 of 2"
    assert (ended.returncode, ended.stderr) == (status, "")
    assert ended.stdout.splitlines()[-1].startswith(said)
    assert json.loads((tmp_path / "report.json").read_text())["exit_status"] == status
