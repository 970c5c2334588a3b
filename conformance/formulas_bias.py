"""Door 3 over PyTorch's arrays, as model repositories write it: tables read by index or gather.

Distances are float32 at least.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from conformance.formulas_frequencies import wide


def behind(T: int, S: int, q_offset: int = 0) -> Tensor:
    """Query minus key, (T, S)."""
    return torch.arange(q_offset, q_offset + T).unsqueeze(1) - torch.arange(S)


# of the distance alone


def alibi_slopes(*, H: int, max_bias: float = 8, dtype: str = "float64") -> Tensor:
    """The list that models build once, in Python floats."""
    n = 2 ** math.floor(math.log2(H))
    slopes = [2 ** (-max_bias * h / n) for h in range(1, n + 1)]
    slopes += [2 ** (-max_bias * h / (2 * n)) for h in range(1, 2 * n, 2)][: H - n]
    return torch.tensor(slopes, dtype=getattr(torch, dtype))


def alibi(slopes: Tensor, *, T: int, S: int, q_offset: int = 0, key_only: bool = False) -> Tensor:
    i, j = torch.arange(q_offset, q_offset + T).unsqueeze(1), torch.arange(S)
    distance = (j.expand(T, S) if key_only else -(i - j).abs()).to(wide(slopes.dtype))
    return (slopes.to(distance.dtype).view(-1, 1, 1) * distance).to(slopes.dtype)


def t5_buckets(relative: Tensor, *, N: int = 32, max_distance: int = 128, bidirectional: bool = True) -> Tensor:
    """The float32 logarithm of transformers."""
    half = N // 2 if bidirectional else N
    ahead = (relative > 0) * half if bidirectional else torch.zeros_like(relative)
    n = relative.abs() if bidirectional else (-relative).clamp(min=0)
    exact = half // 2
    share = torch.log(n.clamp(min=1).float() / exact) / math.log(max_distance / exact)
    far = (exact + (share * (half - exact)).long()).clamp(max=half - 1)
    return ahead + torch.where(n < exact, n, far)


def t5_bias(
    weight: Tensor, *, T: int, S: int, q_offset: int = 0, max_distance: int = 128, bidirectional: bool = True
) -> Tensor:
    relative = -behind(T, S, q_offset)
    buckets = t5_buckets(relative, N=len(weight), max_distance=max_distance, bidirectional=bidirectional)
    return F.embedding(buckets, weight).permute(2, 0, 1)


def kerple_log(a: Tensor, p: Tensor, *, T: int, S: int, q_offset: int = 0) -> Tensor:
    distance = behind(T, S, q_offset).abs().to(wide(a.dtype))
    return (-p[:, None, None] * torch.log(1 + a[:, None, None] * distance)).to(a.dtype)


def kerple_power(a: Tensor, p: Tensor, *, T: int, S: int, q_offset: int = 0) -> Tensor:
    distance = behind(T, S, q_offset).abs().to(wide(a.dtype))
    return (-a[:, None, None] * distance ** p[:, None, None]).to(a.dtype)


def fire(
    w1: Tensor,
    b1: Tensor,
    w2: Tensor,
    b2: Tensor,
    c: Tensor,
    m: Tensor,
    L0: Tensor,
    *,
    T: int,
    S: int,
    q_offset: int = 0,
    eps: float = 1e-6,
) -> Tensor:
    w = wide(w1.dtype)
    c, m, L0 = c.to(w), m.to(w), L0.to(w)
    reach = torch.maximum(torch.arange(q_offset, q_offset + T).to(w), torch.abs(m * L0)).unsqueeze(1)
    near = torch.log(1 + torch.abs(c * behind(T, S, q_offset)))
    x = near / (torch.log(1 + torch.abs(c * reach)) + eps)
    hidden = F.relu(F.linear(x.unsqueeze(-1).to(w1.dtype), w1.unsqueeze(1), b1))
    return F.linear(hidden, w2.T, b2).permute(2, 0, 1)


def sandwich(
    *, H: int, C: int, T: int, S: int, q_offset: int = 0, base: float = 10000.0, dtype: str = "float64"
) -> Tensor:
    to: torch.dtype = getattr(torch, dtype)
    w = wide(to)
    theta = 1.0 / (base ** (torch.arange(2, C + 2, 2, dtype=w) / C))
    drop = torch.cos(behind(T, S, q_offset).to(w).unsqueeze(-1) * theta).sum(dim=-1) - C / 2
    return (H / (8 * torch.arange(1, H + 1, dtype=w))[:, None, None] * drop).to(to)


# of a grid


def grid_behind(height: int, width: int) -> tuple[Tensor, Tensor]:
    """Rows and columns of query minus key, (T, T) each."""
    grid = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    coordinates = torch.stack(grid).flatten(1)
    down, right = coordinates[:, :, None] - coordinates[:, None, :]
    return down, right


def grid_index(height: int, width: int) -> Tensor:
    down, right = grid_behind(height, width)
    return (down + height - 1) * (2 * width - 1) + right + width - 1


def swin_bias(weight: Tensor, *, height: int, width: int) -> Tensor:
    return weight[grid_index(height, width)].permute(2, 0, 1)


def swin_v2_bias(
    w1: Tensor,
    b1: Tensor,
    w2: Tensor,
    *,
    height: int,
    width: int,
    pretrained_height: int | None = None,
    pretrained_width: int | None = None,
) -> Tensor:
    w, axes = wide(w1.dtype), []
    for extent, trained in ((height, pretrained_height or height), (width, pretrained_width or width)):
        steps = 8 * torch.arange(1 - extent, extent, dtype=w) / max(trained - 1, 1)
        axes.append(torch.sign(steps) * torch.log2(1 + steps.abs()) / math.log2(8))
    coordinates = torch.stack(torch.meshgrid(*axes, indexing="ij"), dim=-1).flatten(0, 1)
    table = F.linear(F.relu(F.linear(coordinates.to(w1.dtype), w1.T, b1)), w2.T)
    return 16 * torch.sigmoid(table[grid_index(height, width)].permute(2, 0, 1))


def decomposed_2d_bias(q: Tensor, table_h: Tensor, table_w: Tensor, *, height: int, width: int) -> Tensor:
    """As SAM and ViTDet have it: one axis at a time, broadcast over the other."""
    rows, columns = table_h[behind(height, height) + height - 1], table_w[behind(width, width) + width - 1]
    grid = q.unflatten(-2, (height, width))
    y_h = torch.einsum("...abd,acd->...abc", grid, rows)
    y_w = torch.einsum("...abd,bcd->...abc", grid, columns)
    return (y_h.unsqueeze(-1) + y_w.unsqueeze(-2)).flatten(-4, -3).flatten(-2)


# of content


def clipped(T: int, S: int, q_offset: int, N: int, left: int | None) -> Tensor:
    left = (N - 1) // 2 if left is None else left
    return (-behind(T, S, q_offset)).clamp(-left, N - 1 - left) + left


def shaw_keys(
    q: Tensor, table: Tensor, *, S: int, q_offset: int = 0, left: int | None = None, scale: float | None = None
) -> Tensor:
    keys = table[clipped(q.shape[-2], S, q_offset, len(table), left)]  # (T, S, D)
    return torch.einsum("...td,tsd->...ts", q, keys) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)


def shaw_values(weights: Tensor, v: Tensor, table: Tensor, *, q_offset: int = 0, left: int | None = None) -> Tensor:
    T, S = weights.shape[-2:]
    values = table[clipped(T, S, q_offset, len(table), left)]  # (T, S, E)
    return weights @ v + torch.einsum("...ts,tse->...te", weights, values)


def transformer_xl_bias(
    q: Tensor, k: Tensor, r: Tensor, w_r: Tensor, u: Tensor, v: Tensor, *, scale: float | None = None
) -> Tensor:
    """Relative shift by padding and viewing; with T + S - 1 rows nothing wraps around."""
    (T, D), S = q.shape[-2:], k.shape[-2]
    keys = F.linear(r, w_r.T).unflatten(-1, (-1, D)).transpose(0, 1)  # (H, L, D)
    content = u.unsqueeze(1) @ k.mT
    position = F.pad((q + v.unsqueeze(1)) @ keys.mT, (1, 0))
    position = position.flatten(-2)[..., T:].unflatten(-1, (T, -1))[..., :S]
    return (content + position) * (1 / math.sqrt(D) if scale is None else scale)


def deberta_buckets(d: Tensor, span: int, max_distance: int | None) -> Tensor:
    """The float32 logarithm of transformers, rounded up."""
    if max_distance is None:
        return (d + span).clamp(0, 2 * span - 1)
    mid = span // 2
    share = torch.log(d.abs().clamp(min=mid) / mid) / math.log((max_distance - 1) / mid)
    far = (torch.ceil(share * (mid - 1)) + mid) * torch.sign(d)
    return (torch.where(d.abs() <= mid, d, far.long()) + span).clamp(0, 2 * span - 1)


def deberta_bias(
    q: Tensor,
    k: Tensor,
    key_table: Tensor,
    query_table: Tensor,
    *,
    q_offset: int = 0,
    max_distance: int | None = None,
    mirrored: bool = False,
    scale: float | None = None,
) -> Tensor:
    T, S, span = q.shape[-2], k.shape[-2], key_table.shape[-2] // 2
    d = behind(T, S, q_offset)
    rows = deberta_buckets(d, span, max_distance)
    rows_k = deberta_buckets(-d if mirrored else d, span, max_distance).T
    scores_q, scores_k = q @ key_table.mT, k @ query_table.mT
    c2p = torch.gather(scores_q, -1, rows.expand(*q.shape[:-1], S))
    p2c = torch.gather(scores_k, -1, rows_k.expand(*k.shape[:-1], T)).mT
    return (c2p + p2c) * (1 / math.sqrt(3 * q.shape[-1]) if scale is None else scale)


def cope(q: Tensor, k: Tensor, table: Tensor, *, q_offset: int = 0, scale: float | None = None) -> Tensor:
    """As in the paper's listing, the positions in float32 at least."""
    T, S = q.shape[-2], k.shape[-2]
    logits = q @ k.mT * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    gates = torch.sigmoid(logits.masked_fill(behind(T, S, q_offset) < 0, -math.inf)).to(wide(q.dtype))
    positions = gates.flip(-1).cumsum(dim=-1).flip(-1).clamp(max=len(table) - 1)
    above, below = positions.ceil().long(), positions.floor().long()
    products = q @ table.mT
    w = positions - below
    y = torch.gather(products, -1, above) * w + torch.gather(products, -1, below) * (1 - w)
    return y.to(q.dtype)


def fox(gate_logits: Tensor, *, T: int, q_offset: int = 0) -> Tensor:
    c = F.logsigmoid(gate_logits.to(wide(gate_logits.dtype))).cumsum(dim=-1)
    between = c[..., q_offset : q_offset + T].unsqueeze(-1) - c.unsqueeze(-2)
    return between.masked_fill(behind(T, c.shape[-1], q_offset) < 0, 0.0).to(gate_logits.dtype)


OPS: dict[str, Callable[..., Tensor]] = {
    "alibi_slopes": alibi_slopes,
    "alibi": alibi,
    "t5_buckets": t5_buckets,
    "t5_bias": t5_bias,
    "kerple_log": kerple_log,
    "kerple_power": kerple_power,
    "fire": fire,
    "sandwich": sandwich,
    "swin_bias": swin_bias,
    "swin_v2_bias": swin_v2_bias,
    "decomposed_2d_bias": decomposed_2d_bias,
    "shaw_keys": shaw_keys,
    "shaw_values": shaw_values,
    "transformer_xl_bias": transformer_xl_bias,
    "deberta_bias": deberta_bias,
    "cope": cope,
    "fox": fox,
}
