"""A fused attention kernel as one writes it in Triton, emulated in NumPy: blocks, online softmax, backward from lse.

    refimpl check --entry examples.fused_attention:run --op attention --profile f32
    refimpl check --entry examples.fused_attention:forgets_to_rescale --op blocked_attention --profile f32
    refimpl check --entry examples.fused_attention:reads_past_the_end --op attention --profile f32

A program handles a block of M queries of one head and walks over the keys, N at a time. It loads in the input's dtype,
computes and accumulates in float32, and stores in the input's dtype.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from refimpl.check import Unsupported

Arrays = dict[str, np.ndarray]
M, N = 2, 4  # queries and keys in a block: so few that small cases have several, and a last one that is not full
FLOAT = np.float32


class Grid(NamedTuple):
    """What all programs of one head share. bug: "" or the name of a mistake."""

    scale: np.float32
    q_offset: int | None
    mask: np.ndarray  # (T, S), True keeps
    N: int
    bug: str = ""


def run(op: str, params: dict[str, Any], inputs: Arrays, want: list[str], bug: str = "") -> Arrays:
    """Launch the programs of every head; a key head serves H // G query heads."""
    if op not in ("attention", "blocked_attention") or {"bias", "sink", "keep"} & inputs.keys() or "softcap" in params:
        raise Unsupported("no bias, sink, softcap or dropout")
    q, k, v = (inputs[name] for name in "qkv")
    if q.dtype == np.float64:
        raise Unsupported("accumulates in float32")
    (*batch, H, T, D), (G, S, E) = q.shape, v.shape[-3:]
    mask = np.broadcast_to(inputs.get("mask", np.True_), (*batch, H, T, S))
    scale = FLOAT(params.get("scale", D**-0.5))
    y, lse = np.empty((*batch, H, T, E), q.dtype), np.empty((*batch, H, T), FLOAT)
    dq, dk, dv = np.zeros(q.shape, FLOAT), np.zeros(k.shape, FLOAT), np.zeros(v.shape, FLOAT)
    dy, dlse = inputs.get("cot.y", np.zeros_like(y)), inputs.get("cot.lse", np.zeros_like(lse))
    for at in np.ndindex(*batch, H):
        kv = (*at[:-1], at[-1] // (H // G))
        grid = Grid(scale, params.get("q_offset"), mask[at], params.get("block", N), bug)
        y[at], lse[at] = forward(q[at], k[kv], v[kv], grid)
        if any(name.startswith("grad.") for name in want):
            given = dy[at], dlse[at], y[at], lse[at]
            dq[at], dk_of_head, dv_of_head = backward(q[at], k[kv], v[kv], *given, grid)
            dk[kv] += dk_of_head
            dv[kv] += dv_of_head
    found = {"y": y, "lse": lse, **{f"grad.{n}": g.astype(q.dtype) for n, g in zip("qkv", (dq, dk, dv), strict=True)}}
    return {name: found[name] for name in want}


def forgets_to_rescale(op: str, params: dict[str, Any], inputs: Arrays, want: list[str]) -> Arrays:
    """What was summed under an earlier maximum keeps its scale."""
    return run(op, params, inputs, want, "no rescale")


def reads_past_the_end(op: str, params: dict[str, Any], inputs: Arrays, want: list[str]) -> Arrays:
    """The zeros that fill the last block of keys take part in the softmax."""
    return run(op, params, inputs, want, "no edge")


def forward(q: np.ndarray, k: np.ndarray, v: np.ndarray, grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """q (T, D), k (S, D), v (S, E) -> y (T, E), lse (T)."""
    y, lse = np.zeros((len(q), v.shape[-1]), FLOAT), np.zeros(len(q), FLOAT)
    for i in range(0, len(q), M):
        q_block = load(q, i, M)
        top, total = np.full(M, -np.inf, FLOAT), np.zeros(M, FLOAT)  # running maximum and sum
        acc = np.zeros((M, v.shape[-1]), FLOAT)
        for j in range(0, len(k), grid.N):
            scores = q_block @ load(k, j, grid.N).T * grid.scale  # (M, N)
            scores = np.where(visible(i, j, grid), scores, -np.inf)
            new = np.maximum(top, scores.max(axis=1))
            finite = np.where(new > -np.inf, new, 0)
            shrink = np.ones(M, FLOAT) if grid.bug == "no rescale" else np.exp(top - finite)
            p = np.exp(scores - finite[:, None])
            total = total * shrink + p.sum(axis=1)
            acc = acc * shrink[:, None] + p @ load(v, j, grid.N)
            top = new
        store(y, i, acc / np.where(total > 0, total, 1)[:, None])
        with np.errstate(divide="ignore"):
            store(lse, i, top + np.log(total))  # -inf where a query has no key
    return y, lse


def backward(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    dy: np.ndarray,
    dlse: np.ndarray,
    y: np.ndarray,
    lse: np.ndarray,
    grid: Grid,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return dq, dk, dv: the weights are formed again from lse."""
    dq, dk, dv = (np.zeros(x.shape, FLOAT) for x in (q, k, v))
    delta = (dy.astype(FLOAT) * y.astype(FLOAT)).sum(axis=1) - dlse.astype(FLOAT)  # (T)
    for j in range(0, len(k), grid.N):
        k_block, v_block = load(k, j, grid.N), load(v, j, grid.N)
        for i in range(0, len(q), M):
            q_block, dy_block = load(q, i, M), load(dy, i, M)
            lse_block = load(lse[:, None], i, M)
            kept = visible(i, j, grid) & (lse_block > -np.inf)
            scores = q_block @ k_block.T * grid.scale
            p = np.exp(np.where(kept, scores - np.where(kept, lse_block, 0), -np.inf))  # (M, N)
            dscores = p * (dy_block @ v_block.T - load(delta[:, None], i, M)) * grid.scale
            add(dv, j, p.T @ dy_block)
            add(dk, j, dscores.T @ q_block)
            add(dq, i, dscores @ k_block)
    return dq, dk, dv


def visible(i: int, j: int, grid: Grid) -> np.ndarray:
    """(M, N): which keys of block j the queries of block i see."""
    T, S = grid.mask.shape
    rows, columns = i + np.arange(M)[:, None], j + np.arange(grid.N)
    seen = (columns < S) | (grid.bug == "no edge") & (rows < T)
    if grid.q_offset is not None:
        seen = seen & (columns <= grid.q_offset + rows)
    return seen & grid.mask[np.minimum(rows, T - 1), np.minimum(columns, S - 1)]


def load(x: np.ndarray, start: int, size: int) -> np.ndarray:
    """Read rows as float32, with zeros beyond the end."""
    rows = x[start : start + size].astype(FLOAT)
    return np.pad(rows, ((0, size - len(rows)), (0, 0)))


def store(x: np.ndarray, start: int, block: np.ndarray) -> None:
    """Write those rows of a block that exist."""
    x[start : start + len(block)] = block[: len(x) - start]


def add(x: np.ndarray, start: int, block: np.ndarray) -> None:
    """Add those rows of a block that exist."""
    x[start : start + len(block)] += block[: len(x) - start]
