"""Door 3: biases that look up a bucket of the distance, the bucket found in whole numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from mpmath import mp

from .products import Index, Term, sum_of_products
from .scalars import Arrays, Inputs, Params, number, table_row


def t5_bucket(relative: int, N: int, max_distance: int, bidirectional: bool) -> int:
    """The released formula floor(exact + ln(n / exact) / ln(max / exact) (half - exact)), both sides raised to e."""
    half = N // 2 if bidirectional else N
    n = abs(relative) if bidirectional else max(-relative, 0)
    first = half if bidirectional and relative > 0 else 0
    exact = half // 2
    if n < exact:
        return first + n
    k = 0  # the greatest k with (n / exact)^(half - exact) >= (max_distance / exact)^k
    while exact + k < half - 1 and n ** (half - exact) * exact ** (k + 1) >= max_distance ** (k + 1) * exact ** (
        half - exact
    ):
        k = k + 1
    return first + exact + k


def t5_buckets(inputs: Inputs, params: Params) -> Arrays:
    """Raffel et al. 2020 (T5), section 2.1 and its code, relative_position_bucket: half exact, half logarithmic."""
    relative = np.asarray(inputs["relative"])
    y = np.empty(relative.shape, dtype=object)
    N, max_distance, both = params.get("N", 32), params.get("max_distance", 128), params.get("bidirectional", True)
    for at in np.ndindex(relative.shape):
        y[at] = t5_bucket(int(relative[at]), N, max_distance, both)
    return {"y": y}


def t5_bias_terms(arrays: Arrays, params: Params) -> tuple[Index, Iterator[Term]]:
    """Raffel et al. 2020 (T5), section 2.1: a learned number for each head and bucket of key minus query."""
    N, H = arrays["weight"].shape
    shape = (H, params["T"], params["S"])
    max_distance, both = params.get("max_distance", 128), params.get("bidirectional", True)

    def terms() -> Iterator[Term]:
        for h, i, j in np.ndindex(shape):
            relative = j - (params.get("q_offset", 0) + i)
            row = table_row(t5_bucket(relative, N, max_distance, both), N)
            yield (h, i, j), 1, [("weight", (row, h))]

    return shape, terms()


t5_bias, t5_bias_gradient = sum_of_products(t5_bias_terms)


def deberta_bucket(delta: int, span: int, max_distance: int | None) -> int:
    """He et al. 2021's released make_log_bucket_position: exact up to the middle, then ceil of a logarithm."""
    mid = span // 2
    if max_distance is None or abs(delta) <= mid:
        return delta
    limit, k = max_distance - 1, 0  # the least k with (|delta| / mid)^(mid - 1) <= (limit / mid)^k
    while abs(delta) ** (mid - 1) * mid**k > limit**k * mid ** (mid - 1):
        k = k + 1
    return (mid + k) * (1 if delta > 0 else -1)


def deberta_row(delta: int, span: int, max_distance: int | None) -> int:
    return min(max(deberta_bucket(delta, span, max_distance) + span, 0), 2 * span - 1)


def deberta_bias_terms(arrays: Arrays, params: Params) -> tuple[Index, Iterator[Term]]:
    """He et al. 2021 (DeBERTa), eq. (4): content to position and position to content."""
    (*batch, T, D), S = arrays["q"].shape, arrays["k"].shape[-2]
    span, limit = arrays["key_table"].shape[-2] // 2, params.get("max_distance")
    scale = 1 / mp.sqrt(3 * D) if params.get("scale") is None else number(params["scale"])
    shape = (*batch, T, S)

    def terms() -> Iterator[Term]:
        for at in np.ndindex(shape):
            *head, i, j = at
            delta = params.get("q_offset", 0) + i - j
            row = deberta_row(delta, span, limit)
            other = deberta_row(-delta, span, limit) if params.get("mirrored", False) else row
            for d in range(D):
                yield at, scale, [("q", (*head, i, d)), ("key_table", (head[-1], row, d))]
                yield at, scale, [("k", (*head, j, d)), ("query_table", (head[-1], other, d))]

    return shape, terms()


deberta_bias, deberta_bias_gradient = sum_of_products(deberta_bias_terms)
