"""PyTorch on the whole pack, its fused kernel and its module on the shapes that they take."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from conformance.pytorch import run, to_numpy, to_torch
from refimpl.check import Unsupported
from refimpl.check.command import open_pack
from refimpl.check.compare import compare
from refimpl.check.report import plain
from refimpl.check.request import request
from refimpl.check.verdict import Verdict, judge
from refimpl.fixtures.cases import CASES
from refimpl.fixtures.read import LoadedCase

ALL = ("f64", "f32", "bf16", "f16")
NAN = "F.softmax of a row of -inf is NaN, as 0/0; scaled_dot_product_attention gives 0 there, as the fixtures"
SUM = "the gradient of F.embedding adds up in 16 bits on the CPU, not in float32: 300 ones give 256"
SUM_TOO = "the same 16-bit sum of F.embedding, under another name or divided by counts"
SUM_OF_BIAS = "the gradient of the bias of F.layer_norm adds up in 16 bits on the CPU, not in float32"
EXPANDED = "F.layer_norm computes x / deviation - mean / deviation, which loses digits where x is close to the mean"
SUM_OF_ROWS = "a table that many pairs read, by F.embedding or by index: its gradient adds up in 16 bits on the CPU"
PAIRS = "a table read once a pair: autograd rounds the gradient of every pair to 16 bits before it adds them up"
SIGMOID = "the gradient of torch.sigmoid is y (1 - y), which loses its digits where y is close to 1"
# case, profiles, an output that is out, reason. Each of these must fail, and no other output of the case.
KNOWN: list[tuple[str, tuple[str, ...], str, str]] = [
    ("softmax/masked_row", ALL, "y", NAN),
    ("softmax/masked_sequence", ALL, "y", NAN),
    ("token_embedding/all_same_id", ("bf16",), "grad.weight", SUM),
    ("token_embedding/scale_sqrt_width", ("f16",), "grad.weight", SUM),
    ("token_embedding/three_axes", ("bf16",), "grad.weight", SUM),
    ("token_embedding/two_hundred_repeats", ("bf16", "f16"), "grad.weight", SUM),
    ("transformer_embedding/sequence_first", ("bf16",), "grad.weight", SUM),
    ("token_embedding/grad_by_freq", ("bf16",), "grad.weight", SUM_TOO),
    ("segment_embedding/one_row", ("bf16",), "grad.weight", SUM_TOO),
    ("segment_embedding/two_sentences", ("bf16",), "grad.weight", SUM_TOO),
    ("segment_embedding/unused_row", ("bf16",), "grad.weight", SUM_TOO),
    ("layer_norm/gain_and_bias", ("bf16",), "grad.bias", SUM_OF_BIAS),
    ("layer_norm/one_vector", ("f64",), "grad.weight", EXPANDED),
    ("bert_embedding/two_sentences", ("bf16",), "grad.norm_bias", SUM_OF_BIAS),
    ("bert_embedding/padding", ("bf16",), "grad.norm_bias", SUM_OF_BIAS),
    ("bert_embedding/roberta", ("bf16",), "grad.norm_bias", SUM_OF_BIAS),
    ("t5_bias/bidirectional", ("bf16",), "grad.weight", SUM_OF_ROWS),
    ("t5_bias/causal", ("bf16",), "grad.weight", SUM_OF_ROWS),
    ("t5_bias/decode_step", ("bf16",), "grad.weight", SUM_OF_ROWS),
    ("t5_bias/more_queries", ("bf16",), "grad.weight", SUM_OF_ROWS),
    ("swin_bias/high_window", ("bf16",), "grad.weight", SUM_OF_ROWS),
    ("swin_bias/one_column", ("bf16",), "grad.weight", SUM_OF_ROWS),
    ("swin_bias/one_row", ("bf16",), "grad.weight", SUM_OF_ROWS),
    ("decomposed_2d_bias/high_grid", ("bf16",), "grad.table_h", SUM_OF_ROWS),
    ("shaw_keys/given_scale", ("f16",), "grad.table", PAIRS),
    ("shaw_values/no_batch", ("bf16",), "grad.table", PAIRS),
    ("swin_v2_bias/saturated", ("f64", "f32", "f16"), "grad.w1", SIGMOID),
    ("swin_v2_bias/saturated", ALL, "grad.b1", SIGMOID),
    ("swin_v2_bias/saturated", ALL, "grad.w2", SIGMOID),
    ("cope/given_scale", ("f64", "f32", "f16"), "grad.k", SIGMOID),
]

FUSED = [id for id in CASES if id.startswith("attention/equal_widths")]
MODULE = [id for id in CASES if id.startswith("multi_head_attention/one_width")]


@pytest.fixture(scope="module")
def pack() -> dict[str, LoadedCase]:
    return {case.id: case for case in open_pack(None, []).cases}


@pytest.mark.parametrize("id", CASES)
def test_whole_pack(id: str, pack: dict[str, LoadedCase], verdicts: dict[str, list[Verdict]]) -> None:
    found = [judge(pack[id], profile, run) for profile in pack[id].profiles]
    verdicts.setdefault(f"PyTorch {torch.__version__}", []).extend(found)
    known: dict[str, list[str]] = {}
    for profile, output in ((p, output) for case, some, output, _ in KNOWN if case == id for p in some):
        known.setdefault(profile, []).append(output)
    failed = {v.profile: list(v.failing) for v in found if v.status not in ("passed", "suspicious")}
    assert failed == known, "\n".join(plain(v) for v in found if v.profile in failed)


def test_known_differences_are_of_the_pack() -> None:
    assert {id for id, *_ in KNOWN} <= set(CASES)


@pytest.mark.parametrize(("id", "profile"), [(id, p) for id, some, _, reason in KNOWN for p in some if reason == SUM])
def test_difference_is_the_16_bit_sum(id: str, profile: str, pack: dict[str, LoadedCase]) -> None:
    case, asked = pack[id], request(pack[id], profile)
    ids, dy = torch.tensor(asked.inputs["ids"]).flatten(), to_torch(asked.inputs["cot.y"])
    V, C = asked.inputs["weight"].shape
    scaled = asked.params.get("scale_by_sqrt_width", case.op == "transformer_embedding")
    rows = (dy * math.sqrt(C) if scaled else dy).reshape(-1, C)
    total = torch.zeros(V, C, dtype=dy.dtype)
    for token, row in zip(ids.tolist(), rows, strict=True):
        total[token] += row
    got = run(*asked._replace(want=["grad.weight"]))["grad.weight"]
    assert np.array_equal(to_numpy(total), got)
    in_float32 = torch.zeros(V, C).index_add(0, ids, rows.float()).to(dy.dtype)
    want, tol = case.expected["grad.weight"], case.tolerance(profile)["grad.weight"]
    assert compare(to_numpy(in_float32), want, tol, profile=profile, honest=0.0).ok


@pytest.mark.parametrize(
    ("id", "profile", "mistake"),
    [
        ("token_embedding/two_hundred_repeats", "bf16", "embedding.grad_accumulated_in_16_bits"),
        ("softmax/masked_row", "f32", "softmax.full_row_nan"),
    ],
)
def test_checker_names_the_difference(id: str, profile: str, mistake: str, pack: dict[str, LoadedCase]) -> None:
    diagnosis = judge(pack[id], profile, run).diagnosis
    assert diagnosis is not None
    assert diagnosis.mistakes[0] == mistake


@pytest.mark.parametrize("id", FUSED)
def test_fused_kernel(id: str, pack: dict[str, LoadedCase]) -> None:
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):  # raises where that kernel cannot run
        found = [judge(pack[id], profile, run) for profile in pack[id].profiles]
    assert [v.profile for v in found] == list(ALL)
    assert all(v.status == "passed" for v in found), "\n".join(map(plain, found))


@pytest.mark.parametrize("id", MODULE)
def test_module(id: str, pack: dict[str, LoadedCase], monkeypatch: pytest.MonkeyPatch) -> None:
    forward, calls = torch.nn.MultiheadAttention.forward, 0

    def counted(*args: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        return forward(*args, **options)

    monkeypatch.setattr(torch.nn.MultiheadAttention, "forward", counted)
    found = [judge(pack[id], profile, run) for profile in pack[id].profiles]
    assert [v.profile for v in found] == list(ALL)
    assert all(v.status == "passed" for v in found), "\n".join(map(plain, found))
    assert calls == len(ALL)


# What README.md says of PyTorch.


@pytest.mark.parametrize(("dtype", "most"), [(torch.bfloat16, 256), (torch.float16, 2048), (torch.float32, 5000)])
def test_embedding_gradient_stops_growing(dtype: torch.dtype, most: int) -> None:
    weight = torch.ones(2, 1, dtype=dtype, requires_grad=True)
    F.embedding(torch.zeros(5000, dtype=torch.long), weight).sum().backward()
    assert weight.grad is not None
    assert weight.grad.tolist() == [[most], [0]]


@pytest.mark.parametrize(("dtype", "most"), [(torch.bfloat16, 256), (torch.float16, 2048)])
def test_gradient_of_an_index_stops_growing(dtype: torch.dtype, most: int) -> None:
    table = torch.ones(2, 1, dtype=dtype, requires_grad=True)
    table[torch.zeros(5000, dtype=torch.long)].sum().backward()
    assert table.grad is not None
    assert table.grad.tolist() == [[most], [0]]


@pytest.mark.parametrize(("dtype", "x"), [(torch.float32, 20.0), (torch.float64, 40.0)])
def test_gradient_of_sigmoid_ends_early(dtype: torch.dtype, x: float) -> None:
    right, left = (torch.tensor(sign * x, dtype=dtype, requires_grad=True) for sign in (1, -1))
    torch.sigmoid(torch.stack((right, left))).sum().backward()
    assert left.grad is not None
    assert float(left.grad) == pytest.approx(math.exp(-x))
    assert right.grad == 0  # by symmetry it is the same


@pytest.mark.parametrize("need_weights", [True, False])
def test_module_with_weights_has_nan_rows(need_weights: bool) -> None:
    module, x = torch.nn.MultiheadAttention(4, 2, bias=False, batch_first=True), torch.ones(1, 3, 4)
    drop = torch.tensor([[False] * 3, [True] * 3, [False] * 3])
    y, _ = module(x, x, x, attn_mask=drop, need_weights=need_weights)
    assert bool(y[0, 1].isnan().all()) == need_weights
    assert bool((y[0, 1] == 0).all()) != need_weights
    assert not y[0, [0, 2]].isnan().any()


def test_logsumexp_of_an_empty_row_poisons_unmasked_scores_alone() -> None:
    scores = torch.zeros(3, requires_grad=True)
    drop = torch.ones(3, dtype=torch.bool)
    for masked, poisoned in ((scores.masked_fill(drop, -torch.inf), False), (scores - torch.inf, True)):
        lse = torch.logsumexp(masked, -1)
        (gradient,) = torch.autograd.grad(lse, scores)
        assert lse == -torch.inf
        assert bool(gradient.isnan().all()) == poisoned


@pytest.mark.parametrize(("dtype", "most"), [(torch.bfloat16, 5e-3), (torch.float16, 6e-4)])
def test_bicubic_weights_in_16_bits(dtype: torch.dtype, most: float) -> None:
    """Interpolated in 16 bits, a table is off by more than the one rounding that it would take after float32."""
    grid = torch.linspace(-1, 1, 2 * 7 * 5).sin().reshape(1, 2, 7, 5).to(dtype)
    fine = F.interpolate(grid.double(), size=(11, 13), mode="bicubic")
    narrow, wide = (F.interpolate(g, size=(11, 13), mode="bicubic").to(dtype).double() for g in (grid, grid.float()))
    assert float(torch.max(torch.abs(narrow - fine))) > float(torch.max(torch.abs(wide - fine)))
    assert float(torch.max(torch.abs(wide - fine))) < most


def test_frequencies_through_exp_lose_more_than_through_pow() -> None:
    exponents = torch.arange(0, 512, 2) / 512
    exact = 10000.0 ** -exponents.double()
    errors = [
        float(torch.max(torch.abs(w / exact - 1))) * 2**24
        for w in (torch.exp(torch.arange(0, 512, 2) * (-math.log(10000.0) / 512)), 1 / 10000.0**exponents)
    ]
    assert errors[0] > 5 > 3 > errors[1]


@pytest.mark.parametrize(("profile", "least", "most"), [("f64", 1e-12, 1e-10), ("f32", 1e-4, 1e-2)])
def test_angle_at_position_2_20(profile: str, least: float, most: float, pack: dict[str, LoadedCase]) -> None:
    case = pack["rope_cos_sin/boundary_positions"]
    params = case.params | {"dtype": {"f64": "float64", "f32": "float32"}[profile]}
    cos = run(case.op, params, case.arguments, ["cos"])["cos"]
    row = case.arguments["positions"].tolist().index(2**20)
    assert least < np.max(np.abs(cos[row] - case.expected["cos"][row])) < most


def test_what_pytorch_does_not_have_is_unsupported() -> None:
    with pytest.raises(Unsupported, match="op 'rope_backwards'"):
        run("rope_backwards", {}, {}, ["y"])
    with pytest.raises(Unsupported, match=r"mid\.y: PyTorch returns y only"):
        run("softmax", {}, {"x": np.ones((2, 3))}, ["mid.y"])
