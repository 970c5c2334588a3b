"""Door 3: products of the queries, keys or weights with an embedding of the relative position."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from mpmath import mp

from .products import Index, Term, sum_of_products
from .scalars import Arrays, Params, number, table_row


def scaled(params: Params, D: int) -> Any:
    return 1 / mp.sqrt(D) if params.get("scale") is None else number(params["scale"])


def clipped(i: int, j: int, rows: int, params: Params) -> int:
    """Row of the embedding of key j minus query i, clipped to what the table reaches on either side."""
    left = (rows - 1) // 2 if params.get("left") is None else params["left"]
    right = rows - 1 - left
    relative = j - (params.get("q_offset", 0) + i)
    return table_row(max(-left, min(relative, right)) + left, rows)


def shaw_keys_terms(arrays: Arrays, params: Params) -> tuple[Index, Iterator[Term]]:
    """Shaw et al. 2018, eq. (4): x_i W^Q . a^K_ij / sqrt(d), a_ij = w_clip(j - i, k)."""
    *heads, T, D = arrays["q"].shape
    shape, scale = (*heads, T, params["S"]), scaled(params, D)

    def terms() -> Iterator[Term]:
        for at in np.ndindex(shape):
            *head, i, j = at
            row = clipped(i, j, len(arrays["table"]), params)
            for d in range(D):
                yield at, scale, [("q", (*head, i, d)), ("table", (row, d))]

    return shape, terms()


shaw_keys, shaw_keys_gradient = sum_of_products(shaw_keys_terms)


def shaw_values_terms(arrays: Arrays, params: Params) -> tuple[Index, Iterator[Term]]:
    """Shaw et al. 2018, eq. (3): z_i = sum_j alpha_ij (x_j W^V + a^V_ij)."""
    *heads, T, S = arrays["weights"].shape
    shape = (*heads, T, arrays["v"].shape[-1])

    def terms() -> Iterator[Term]:
        for at in np.ndindex(shape):
            *head, i, e = at
            for j in range(S):
                row = clipped(i, j, len(arrays["table"]), params)
                yield at, 1, [("weights", (*head, i, j)), ("v", (*head, j, e))]
                yield at, 1, [("weights", (*head, i, j)), ("table", (row, e))]

    return shape, terms()


shaw_values, shaw_values_gradient = sum_of_products(shaw_values_terms)


def transformer_xl_bias_terms(arrays: Arrays, params: Params) -> tuple[Index, Iterator[Term]]:
    """Dai et al. 2019 (Transformer-XL), section 3.3: terms (b), (c) and (d) of the relative score, times the scale."""
    (*batch, H, T, D), S = arrays["q"].shape, arrays["k"].shape[-2]
    shape, scale, C = (*batch, H, T, S), scaled(params, D), len(arrays["w_r"])

    def terms() -> Iterator[Term]:
        for at in np.ndindex(shape):
            *b, h, i, j = at
            row = table_row(T - 1 - i + j, len(arrays["r"]))
            for d in range(D):
                yield at, scale, [("u", (h, d)), ("k", (*b, h, j, d))]
                for c in range(C):
                    embedded = [("r", (row, c)), ("w_r", (c, h * D + d))]
                    yield at, scale, [("q", (*b, h, i, d)), *embedded]
                    yield at, scale, [("v", (h, d)), *embedded]

    return shape, terms()


transformer_xl_bias, transformer_xl_bias_gradient = sum_of_products(transformer_xl_bias_terms)
