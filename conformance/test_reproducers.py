"""Every accusation, run in a process of its own: what has an assert holds, what ends in an error ends in that one.

A few print what came and what was wanted, and assert nothing; of these it is only seen that they run.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.measure import claims_of, frameworks
from conformance.processes import ONE_THREAD

FOLDER = Path(__file__).parent / "reproducers"
ENDS = {  # the last words of those that end in an error; a crash has none
    "jax_float16_attention_under_jit": "F16_F16_F32",
    "onnxruntime_layer_norm_empty_name": "",
    "onnxruntime_mask_of_one_row": "inconsistent q_sequence_length",
}
BESIDE = {  # why no claims file names them: the cases are not claimed at all
    "equinox_rope_theta": "the cache of another theta; each case has one",
    "jax_float16_attention_under_jit": "float16 attention is not claimed",
    "jax_float64_attention": "float64 attention is not claimed",
    "jax_residual_gradient": "the gradient of lse is not claimed",
    "onnxruntime_layer_norm_empty_name": "the adapter hands a bias over",
}


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_reproducer(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, path], env=os.environ | ONE_THREAD, capture_output=True, text=True, timeout=300, check=False
    )
    if missing := re.search(r"ModuleNotFoundError: No module named '(\w+)", done.stderr):
        pytest.skip(f"{missing[1]} is not installed")
    if path.stem in ENDS:
        assert done.returncode != 0
        assert ENDS[path.stem] in done.stderr
    else:
        assert done.returncode == 0, done.stderr


def test_every_reproducer_is_of_a_known_failure() -> None:
    seen = {Path(known.get("seen", "")).stem for name in frameworks() for known in claims_of(name).known}
    assert {path.stem for path in FOLDER.glob("*.py")} - seen == set(BESIDE)
