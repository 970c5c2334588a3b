"""Bytes do not depend on the processor: FLINT and the C library choose code by its features."""

import os
import platform
import subprocess
import sys

import pytest

PROGRAM = """
import hashlib, math, random
from refimpl.exact import PROFILES, bound, nearest, prove
from tests.exact.formulas import FORMULAS

digest = hashlib.sha256()
for formula, arrays in FORMULAS.values():
    compute = lambda xp: {"y": formula(xp, *(xp.asarray(a) for a in arrays))}
    want = prove(compute)
    digest.update(want["y"].tobytes())
    for profile in PROFILES:
        digest.update(bound(compute, profile, want)["y"].tobytes())
        digest.update(nearest(compute, profile)["y"].tobytes())
libm = hashlib.sha256()
for _ in range(20_000):
    x = random.Random(_).random()
    libm.update(repr([f(30 * x) for f in (math.exp, math.sin, math.cos)]).encode())
print(digest.hexdigest(), libm.hexdigest())
"""


def digests(**environment: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=os.environ | environment, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


@pytest.mark.skipif(platform.machine() != "x86_64" or not sys.platform.startswith("linux"), reason="glibc on x86-64")
def test_results_are_the_same_bytes_without_avx2_and_fma():
    ours, libm = digests()
    ours_plain, libm_plain = digests(GLIBC_TUNABLES="glibc.cpu.hwcaps=-AVX2,-FMA", NPY_DISABLE_CPU_FEATURES="X86_V3")
    if libm == libm_plain:
        pytest.skip("the C library gives the same bits either way: the processor has no FMA, or the setting no effect")
    assert ours == ours_plain
