"""PyTorch beside its claims: why its sums differ, its fused kernel and its module, and what one should know of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
F = torch.nn.functional

from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402

from conformance import pytorch_formulas  # noqa: E402
from conformance.measure import fixtures  # noqa: E402
from conformance.pytorch import run  # noqa: E402
from conformance.torch_arrays import to_numpy, to_torch  # noqa: E402
from refimpl.check import Unsupported  # noqa: E402
from refimpl.check.compare import compare  # noqa: E402
from refimpl.check.report import plain  # noqa: E402
from refimpl.check.request import request  # noqa: E402
from refimpl.check.verdict import judge  # noqa: E402
from refimpl.fixtures.cases import CASES  # noqa: E402
from refimpl.fixtures.read import LoadedCase  # noqa: E402

ALL = ("f64", "f32", "bf16", "f16")
SUMS = [
    ("token_embedding/all_same_id", "bf16"),
    ("token_embedding/scale_sqrt_width", "f16"),
    ("token_embedding/three_axes", "bf16"),
    ("token_embedding/two_hundred_repeats", "bf16"),
    ("token_embedding/two_hundred_repeats", "f16"),
]
FUSED = [id for id in CASES if id.startswith("attention/equal_widths")]
MODULE = [id for id in CASES if id.startswith("multi_head_attention/one_width")]


@pytest.fixture(scope="module")
def pack() -> dict[str, LoadedCase]:
    return {case.id: case for case in fixtures().cases}


@pytest.mark.parametrize(("id", "profile"), SUMS)
def test_difference_is_the_16_bit_sum(id: str, profile: str, pack: dict[str, LoadedCase]) -> None:
    case, asked = pack[id], request(pack[id], profile)
    ids, dy = torch.tensor(asked.inputs["ids"]).flatten(), to_torch(asked.inputs["cot.y"])
    V, C = asked.inputs["weight"].shape
    scaled = asked.params.get("scale_by_sqrt_width", False)
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
def test_bicubic_weights_in_16_bits(dtype: Any, most: float) -> None:
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
    cos = pytorch_formulas.run(case.op, params, case.arguments, ["cos"])["cos"]
    row = case.arguments["positions"].tolist().index(2**20)
    assert least < np.max(np.abs(cos[row] - case.expected["cos"][row])) < most


def test_what_pytorch_does_not_have_is_unsupported() -> None:
    with pytest.raises(Unsupported, match="op 'rope_backwards'"):
        run("rope_backwards", {}, {}, ["y"])
    with pytest.raises(Unsupported, match=r"mid\.y: softmax returns y only"):
        run("softmax", {}, {"x": np.ones((2, 3))}, ["mid.y"])
