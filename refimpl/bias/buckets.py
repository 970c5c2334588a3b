"""Buckets that grow with the logarithm of the distance, found without one: integers, exact."""

from __future__ import annotations


def log_bucket_starts(exact: int, limit: int, steps: int, powers: range, *, strict: bool) -> list[int]:
    """Return for each k in `powers` the least integer n with (n / exact)^steps >= (limit / exact)^k, or > if strict.

        n^steps · exact^k >= limit^k · exact^steps

    ln(n / exact) / ln(limit / exact) · steps >= k says the same, but a rounded logarithm decides it wrongly just where
    a bucket begins: float64 is off by one at n = 64, 128 and 256 in one order of operations, right in another.
    """
    starts, n = [], exact
    for k in powers:
        wanted = limit**k * exact**steps
        while (reached := n**steps * exact**k) < wanted or (strict and reached == wanted):
            n += 1
        starts.append(n)
    return starts
