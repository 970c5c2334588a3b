"""refimpl check --entry adapter:run --op rope --profile f32 --forward"""

from __future__ import annotations

from typing import Any

import numpy as np
from rotary import apply_rope

from refimpl.check import Unsupported


def run(op: str, params: dict[str, Any], inputs: dict[str, np.ndarray], want: list[str]) -> dict[str, np.ndarray]:
    if op != "rope" or params != {"interleaved": False}:
        raise Unsupported("RoPE of pairs (i, i + D/2) only")
    return {"y": apply_rope(**inputs)}
