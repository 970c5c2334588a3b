"""Kernels in C++17 (conformance/cpp), float32 and float64, through the directory protocol.

    refimpl check --entry conformance.cpp:run
    refimpl check -- ./kernels                  the same without Python, see main.cpp

Compiled once a process by $CXX, c++, g++ or clang++.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

from refimpl.check import Unsupported

SOURCE = Path(__file__).parent / "main.cpp"
FLAGS = ("-std=c++17", "-O2", "-ffp-contract=off")
PROFILES = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16"}
OPS = ("rope", "partial_rope", "alibi_slopes", "alibi", "softmax", "attention")

COMPILER = next(filter(None, map(shutil.which, [os.environ.get("CXX", "c++"), "g++", "clang++"])), "")
if not COMPILER:
    raise ImportError("no C++ compiler: neither $CXX nor c++, g++, clang++ is there")


def run(
    op: str, params: Mapping[str, Any], inputs: Mapping[str, np.ndarray], want: Sequence[str]
) -> dict[str, np.ndarray]:
    """Ask the command about one case."""
    names = {params.get("dtype", ""), *(array.dtype.name for array in inputs.values())}
    profile = next((PROFILES[name] for name in names if name in PROFILES), "f64")
    if profile not in ("f64", "f32"):
        raise Unsupported(f"profile {profile}")
    with tempfile.TemporaryDirectory() as folder:
        asked, out = Path(folder, "in"), Path(folder, "out")
        asked.mkdir()
        tensors = {n if n.startswith("cot.") else f"in.{n}": np.ascontiguousarray(x) for n, x in inputs.items()}
        save_file(tensors, asked / "case.in.safetensors")
        case = {"id": f"{op}/case", "op": op, "profile": profile, "conventions": [], "params": dict(params)}
        case |= {"want": list(want), "file": "case.in.safetensors"}
        (asked / "request.json").write_text(json.dumps({"format": 1, "cases": [case]}), "utf-8")
        subprocess.run([command(), "--in", asked, "--out", out], check=True)
        said = json.loads((out / "results.jsonl").read_text("utf-8"))
        return answer(said, out / f"{op}__case.safetensors")


def answer(said: Mapping[str, str], file: Path) -> dict[str, np.ndarray]:
    """Return the results of a case, or raise what the command said instead."""
    if said["status"] == "ok":
        return load_file(file)
    raises = {"unsupported": Unsupported, "rejected": ValueError}
    raise raises.get(said["status"], RuntimeError)(said["detail"])


@functools.cache
def command() -> str:
    """Compile the command, for the life of this process."""
    FOLDER.append(tempfile.TemporaryDirectory())
    made = str(Path(FOLDER[0].name, "kernels"))
    subprocess.run([COMPILER, *FLAGS, "-o", made, SOURCE], check=True)
    return made


FOLDER: list[tempfile.TemporaryDirectory] = []
