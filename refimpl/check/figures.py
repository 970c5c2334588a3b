"""Numbers as the report writes them."""

from __future__ import annotations

import math


def short(x: float) -> str:
    """Write a budget, a tolerance or a ratio with three digits at most; NaN, where nothing was compared, as a dash."""
    if math.isnan(x):
        return "–"
    if x != 0 and math.isfinite(x) and not 1e-3 <= abs(x) < 1e5:
        return f"{x:.1e}"
    return f"{x:.3g}" if abs(x) < 1000 or math.isinf(x) else f"{x:.0f}"


def apart(got: float, want: float) -> tuple[str, str]:
    """Write two numbers with as many digits as it takes to see them differ, and two more."""
    digits = 4
    if math.isfinite(got) and math.isfinite(want) and got != want:
        digits = math.ceil(-math.log10(abs(got / 2 - want / 2) / max(abs(got / 2), abs(want / 2)))) + 2
    digits = min(max(digits, 4), 17)
    return f"{got:.{digits}g}", f"{want:.{digits}g}"


def plural(n: int, word: str) -> str:
    """Write a number of things."""
    return f"{n} {word}" + ("" if n == 1 else "s")


def size(bytes: int) -> str:
    """Write a number of bytes."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if bytes >= unit:
            return f"{bytes / unit:.3g} {name}"
    return f"{bytes} bytes"


def printable(text: object) -> str:
    """Write what came from an implementation: control characters, which could move a terminal's cursor, as U+FFFD."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in str(text))
