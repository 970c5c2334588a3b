"""Door 3: biases of images; tokens are the cells of a grid, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from mpmath import mp

from .differences import slopes
from .products import Index, Term, sum_of_products
from .scalars import Arrays, Inputs, Params, exact, precise, table_row, zeros


def cells(params: Params) -> list[tuple[int, int]]:
    return [(a, b) for a in range(params["height"]) for b in range(params["width"])]


def swin_bias_terms(arrays: Arrays, params: Params) -> tuple[Index, Iterator[Term]]:
    """Liu et al. 2021 (Swin), section 3.2 and its code: a learned number for each head and offset query minus key."""
    height, width, grid = params["height"], params["width"], cells(params)
    rows, H = arrays["weight"].shape

    def terms() -> Iterator[Term]:
        for i, (a, b) in enumerate(grid):
            for j, (c, d) in enumerate(grid):
                row = table_row((a - c + height - 1) * (2 * width - 1) + (b - d + width - 1), rows)
                for h in range(H):
                    yield (h, i, j), 1, [("weight", (row, h))]

    return (H, len(grid), len(grid)), terms()


swin_bias, swin_bias_gradient = sum_of_products(swin_bias_terms)


def log_spaced(offset: int, extent: int) -> Any:
    """Liu et al. 2022 (SwinV2), section 3.3 and its code: 8 at the window's rim, then sign log2(1 + .) / log2 8."""
    normalised = mp.mpf(8) * offset / max(extent - 1, 1)
    return mp.sign(normalised) * mp.log(1 + abs(normalised)) / mp.log(8)


@precise
def swin_v2_bias(inputs: Inputs, params: Params) -> Arrays:
    """Liu et al. 2022 (SwinV2), section 3.3 and its code: 16 sigmoid of an MLP of the log-spaced offset."""
    w1, b1, w2 = exact(inputs["w1"]), exact(inputs["b1"]), exact(inputs["w2"])
    (F, H), grid, met = w2.shape, cells(params), {}
    height = params.get("pretrained_height") or params["height"]
    width = params.get("pretrained_width") or params["width"]
    y = zeros((H, len(grid), len(grid)))
    for i, (a, b) in enumerate(grid):
        for j, (c, d) in enumerate(grid):
            offset = a - c, b - d
            if offset not in met:
                down, right = log_spaced(offset[0], height), log_spaced(offset[1], width)
                hidden = [max(down * w1[0, f] + right * w1[1, f] + b1[f], mp.mpf(0)) for f in range(F)]
                logits = [mp.fsum(w2[f, h] * hidden[f] for f in range(F)) for h in range(H)]
                met[offset] = [16 / (1 + mp.exp(-logit)) for logit in logits]
            for h in range(H):
                y[h, i, j] = met[offset][h]
    return {"y": y}


def swin_v2_bias_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """Central differences of swin_v2_bias."""
    return slopes(swin_v2_bias, inputs, params, cotangents)


def decomposed_2d_bias_terms(arrays: Arrays, params: Params) -> tuple[Index, Iterator[Term]]:
    """Li et al. 2022 (MViTv2), as in ViTDet and SAM: q_i . (R_h of the rows + R_w of the columns)."""
    (*heads, T, D), grid = arrays["q"].shape, cells(params)
    shape = (*heads, T, T)

    def terms() -> Iterator[Term]:
        for at in np.ndindex(shape):
            *head, i, j = at
            (a, b), (c, d) = grid[i], grid[j]
            row = table_row(a - c + params["height"] - 1, len(arrays["table_h"]))
            column = table_row(b - d + params["width"] - 1, len(arrays["table_w"]))
            for channel in range(D):
                yield at, 1, [("q", (*head, i, channel)), ("table_h", (row, channel))]
                yield at, 1, [("q", (*head, i, channel)), ("table_w", (column, channel))]

    return shape, terms()


decomposed_2d_bias, decomposed_2d_bias_gradient = sum_of_products(decomposed_2d_bias_terms)
