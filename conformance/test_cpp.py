"""The C++ kernels as a command: a whole request at once, and what the directory protocol says of trouble."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

cpp = pytest.importorskip("conformance.cpp", reason="no C++ compiler", exc_type=ImportError)
FORMAT = {"format": 1}


def answered(folder: Path, cases: list[dict]) -> list[dict]:
    """Run the command on cases whose tensors lie in the folder."""
    (folder / "request.json").write_text(json.dumps(FORMAT | {"cases": cases}), "utf-8")
    subprocess.run([cpp.command(), "--in", folder, "--out", folder / "out"], check=True)
    lines = (folder / "out" / "results.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def case(slug: str, op: str, profile: str = "f32", **params: object) -> dict:
    named = {"id": f"{op}/{slug}", "op": op, "profile": profile, "conventions": [], "params": params, "want": ["y"]}
    return named | {"file": f"{slug}.in.safetensors"}


def test_every_case_gets_its_own_line(tmp_path: Path) -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    save_file({"in.x": x}, tmp_path / "fine.in.safetensors")
    (tmp_path / "cut.in.safetensors").write_bytes((tmp_path / "fine.in.safetensors").read_bytes()[:40])
    cases = [case("fine", "softmax"), case("fine", "fire"), case("fine", "softmax", "bf16"), case("fine", "rope")]
    cases += [case("cut", "softmax"), case("absent", "softmax"), case("none", "alibi_slopes")]
    found = answered(tmp_path, cases)
    statuses = ["ok", "unsupported", "unsupported", "rejected", "error", "error", "error"]
    assert [line["id"] for line in found] == [one["id"] for one in cases]
    assert [line["status"] for line in found] == statuses
    assert found[1]["detail"] == "op fire"
    assert found[3]["detail"] == "in.cos is missing"


def test_wrong_dtype_is_rejected(tmp_path: Path) -> None:
    save_file({"in.x": np.zeros((2, 3))}, tmp_path / "wide.in.safetensors")
    (line,) = answered(tmp_path, [case("wide", "softmax")])
    assert line["status"] == "rejected"
    assert line["detail"] == "dtype F64, want F32"


def test_names_and_numbers_of_json(tmp_path: Path) -> None:
    """Escapes, exponents, null and blanks, as any writer of JSON may have them."""
    save_file({"in.none": np.zeros(1, np.float32)}, tmp_path / "odd.in.safetensors")
    text = json.dumps(FORMAT | {"cases": [case("odd", "alibi_slopes", H=2)]}, indent=1)
    text = text.replace('"H": 2', '"H" :2.0e0,\n"max_bias":null, "\\u0070\\"":[true,false,{}]')
    (tmp_path / "request.json").write_text(text, "utf-8")
    subprocess.run([cpp.command(), "--in", tmp_path, "--out", tmp_path / "out"], check=True)
    found = cpp.answer({"status": "ok"}, tmp_path / "out" / "alibi_slopes__odd.safetensors")
    assert found["y"].tolist() == [2.0**-4, 2.0**-8]


@pytest.mark.parametrize("words", [[], ["--in", "nowhere"], ["--in", "nowhere", "--out", "out"]])
def test_usage(words: list[str], tmp_path: Path) -> None:
    done = subprocess.run([cpp.command(), *words], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode != 0
    assert done.stderr
