"""The array class: what it refuses, what does not leak, and the Array API functions against NumPy's."""

import copy
import operator
import pickle
import subprocess
import sys
from typing import Any

import array_api_compat.numpy
import numpy as np
import pytest
from beartype import beartype
from beartype.roar import BeartypeCallHintViolation
from jaxtyping import Bool, Float, Int, Shaped, jaxtyped

from refimpl.exact import PROFILES, Bound, Exact, Nearest, nearest, prove

NAMESPACES = [Exact(), *(make(profile) for make in (Bound, Nearest) for profile in PROFILES)]
everywhere = pytest.mark.parametrize("xp", NAMESPACES, ids=str)


@everywhere
@pytest.mark.parametrize(
    "use",
    [
        lambda xp, x: x * 0.5,
        lambda xp, x: 0.1 + x,
        lambda xp, x: x**0.5,
        lambda xp, x: x < 0.5,
        lambda xp, x: xp.arange(3) - 0.5,
        lambda xp, x: np.float32(0.5) * x,
        lambda xp, x: xp.maximum(x, 0.25),
        lambda xp, x: xp.where(x == x if isinstance(xp, Nearest) else xp.asarray(True), x, 0.1),
        lambda xp, x: xp.clip(x, 0, 0.5),
        lambda xp, x: xp.full((2,), 0.5),
        lambda xp, x: xp.asarray([1, 0.5]),
        lambda xp, x: xp.arange(0, 1, 0.1),
        lambda xp, x: xp.linspace(0, 0.5, 3),
    ],
)
def test_rounded_python_floats_are_refused_everywhere(xp, use):
    with pytest.raises(TypeError, match=r"write constant\(name, like=x\)"):
        use(xp, xp.asarray(np.ones((2, 3))))


@everywhere
def test_exact_python_numbers_are_welcome(xp):
    x = xp.asarray(np.asarray([[1.0, 2.0, 3.0]]))
    y = xp.where(xp.asarray([True, False, True]), 2.0 * x + 2**70 - 2**70 - True, -xp.inf)
    assert y.dtype == xp.float64
    assert xp.max(y, axis=-1).shape == (1,)
    assert xp.all(x + np.float64(3) == np.int64(3) + x)


@everywhere
@pytest.mark.parametrize(
    "leak",
    [
        np.asarray,
        np.exp,
        float,
        lambda x: np.add(x, 1),
        lambda x: x + np.ones(3),
        lambda x: np.ones(3) * x,
        lambda x: np.ones(3) == x,
        lambda x: x * 1j,
        lambda x: x + "1",
        lambda x: operator.setitem(x, 0, 1),
        lambda x: [0][x[0]],
    ],
)
def test_nothing_leaks_into_numpy(xp, leak):
    with pytest.raises(TypeError):
        leak(xp.asarray(np.arange(3.0)))


def test_arithmetics_do_not_mix():
    x, y = Exact(128).asarray(1), Exact(256).asarray(1)
    for f in (
        lambda: x + y,
        lambda: x.xp.stack([x, y]),
        lambda: x.xp.where(x == 1, x, y),
        lambda: x @ y,
        lambda: x < y,
    ):
        with pytest.raises(TypeError, match=r"Exact\(bits=128\) got an array of Exact\(bits=256\)"):
            f()
    assert bool(x + Exact(128).asarray(1) == 2)


def test_unknown_names_are_errors():
    with pytest.raises(AttributeError, match="Exact has no function 'einsum'"):
        _ = Exact().einsum
    with pytest.raises(ValueError, match="profile: got 'f8'; allowed: f64, f32, bf16, f16"):
        Bound("f8")
    with pytest.raises(ValueError, match="profile: got 'f8'"):
        Nearest("f8")


@everywhere
def test_array_api_compat_knows_it(xp):
    x = xp.asarray(np.ones((2, 3)))
    assert array_api_compat.array_namespace(x, type(xp)(**vars(xp)).asarray(1)) == xp
    assert array_api_compat.is_array_api_obj(x)
    assert array_api_compat.device(x) == "cpu"
    assert array_api_compat.size(x) == 6
    info = xp.__array_namespace_info__()
    assert info.default_dtypes()["real floating"] == xp.float64 == x.dtype
    assert set(info.dtypes(kind=("integral", "bool"))) == {"int64", "bool"}
    assert pickle.loads(pickle.dumps(xp)) == copy.deepcopy(xp) == xp


@everywhere
def test_jaxtyping_reads_shapes_and_types(xp):
    @jaxtyped(typechecker=beartype)
    def f(x: Float[Any, "T D"], i: Int[Any, " T"], m: Bool[Any, "T D"]) -> Shaped[Any, "D T"]:
        return x.mT

    x, i, m = xp.asarray(np.ones((2, 3))), xp.arange(2), xp.asarray(np.ones((2, 3), bool))
    assert f(x, i, m).shape == (3, 2)
    for wrong in ((x.mT, i, m), (i, i, m), (x, x[:, 0], m), (x, i, x), (x, i[:1], m)):
        with pytest.raises((BeartypeCallHintViolation, TypeError)):
            f(*wrong)


def both(xp: Any, compute: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return what a computation gives in `xp` and in NumPy."""
    evaluate = prove if isinstance(xp, Exact) else lambda compute: nearest(compute, "f64")
    return evaluate(lambda xp: {"y": compute(xp, xp.asarray)})["y"], compute(array_api_compat.numpy, np.asarray)


X = np.arange(-7.0, 17).reshape(2, 3, 4) / 4
N = np.arange(24).reshape(2, 3, 4) % 5 - 1
FUNCTIONS = {
    "index": lambda xp, a: a(X)[1, ..., 2],
    "slice": lambda xp, a: a(X)[:, None, ::2, -1:],
    "integer array": lambda xp, a: a(X)[:, a(np.asarray([2, 0, 2]))],
    "boolean array": lambda xp, a: a(X)[a(N > 0)],
    "integer and slice": lambda xp, a: a(N)[0][1:] + a(N)[-1, :1],
    "iterate": lambda xp, a: xp.stack([row * 2 for row in a(X)]),
    "reshape": lambda xp, a: xp.reshape(a(X), (4, -1)),
    "permute_dims": lambda xp, a: xp.permute_dims(a(X), (2, 0, 1)),
    "mT": lambda xp, a: a(X).mT + xp.matrix_transpose(a(X)),
    "T": lambda xp, a: a(X)[0].T,
    "expand_dims": lambda xp, a: xp.squeeze(xp.expand_dims(a(X), axis=1), axis=1),
    "broadcast_to": lambda xp, a: xp.broadcast_to(a(X)[:, :1], (2, 3, 4)),
    "broadcast_arrays": lambda xp, a: xp.broadcast_arrays(a(X)[0], a(X))[0],
    "flip roll": lambda xp, a: xp.roll(xp.flip(a(X), axis=1), 2, axis=2),
    "moveaxis": lambda xp, a: xp.moveaxis(a(X), 0, -1),
    "repeat tile": lambda xp, a: xp.tile(xp.repeat(a(X), 2, axis=1), (1, 1, 2)),
    "take": lambda xp, a: xp.take(a(X), a(np.asarray([1, 1, 0])), axis=2),
    "take_along_axis": lambda xp, a: xp.take_along_axis(a(X), a(N[:, :, :2] % 3), axis=2),
    "concat": lambda xp, a: xp.concat([a(X), a(N), a(X)], axis=1),
    "stack unstack": lambda xp, a: xp.stack(xp.unstack(a(X), axis=1), axis=2),
    "meshgrid": lambda xp, a: xp.meshgrid(a(X)[0, 0], a(N)[0, 0])[0],
    "tril triu": lambda xp, a: xp.tril(a(X), k=-1) - xp.triu(a(X), k=1),
    "where": lambda xp, a: xp.where(a(N > 0), a(X), 0),
    "where of integers": lambda xp, a: xp.where(a(N > 0), a(N), -1),
    "eye": lambda xp, a: xp.eye(3, 4, k=1) + xp.eye(3, 4),
    "zeros": lambda xp, a: xp.zeros((2, 1)) + xp.ones_like(a(X)[:, 0]) + xp.full_like(a(X)[:, 0], 3),
    "full": lambda xp, a: xp.full((2,), 7) + xp.zeros_like(a(N)[:, 0, 0]),
    "arange": lambda xp, a: xp.arange(9, -3, -2),
    "arange of reals": lambda xp, a: xp.arange(4.0) + xp.arange(1, 5, dtype=xp.float64),
    "linspace": lambda xp, a: xp.linspace(-2, 6, 5),
    "astype": lambda xp, a: xp.astype(a(X), xp.int64) + xp.astype(a(N > 0), xp.int64),
    "astype bool": lambda xp, a: xp.astype(a(N), xp.bool) ^ xp.astype(a(X), xp.bool),
    "operators": lambda xp, a: (2 - a(X)) * 3 + a(X) / 4 - +a(X) + abs(-a(X)),
    "floor division": lambda xp, a: a(X) // 2 - a(N) // 3,
    "remainder": lambda xp, a: a(X) % 2 + a(N) % 3,
    "pow": lambda xp, a: a(X) ** 3 + 2 ** (a(X) * 4) + a(X) ** 0,
    "integer pow": lambda xp, a: a(N) ** 2,
    "integer division": lambda xp, a: a(N) / 8 + 1 / xp.where(a(N > 0), 4, 2),
    "matmul": lambda xp, a: a(X) @ a(X)[:1].mT,
    "matmul of vectors": lambda xp, a: (a(X)[0] @ a(X)[0, 0]) @ a(X)[1, :, 1],
    "matmul of nothing": lambda xp, a: a(X)[..., :0] @ a(X)[..., :0].mT,
    "matmul of no rows": lambda xp, a: a(X)[:0] @ a(X)[:1].mT,
    "matmul of integers": lambda xp, a: a(N) @ a(N).mT,
    "vecdot": lambda xp, a: xp.vecdot(a(X), a(X)[0], axis=-1),
    "tensordot": lambda xp, a: xp.tensordot(a(X), a(X), axes=([0, 2], [0, 2])),
    "tensordot of one axis": lambda xp, a: xp.tensordot(a(X), a(X).mT[0], axes=1),
    "sum": lambda xp, a: xp.sum(a(X), axis=(0, 2)) + xp.sum(a(X)),
    "sum keepdims": lambda xp, a: xp.sum(a(X), axis=1, keepdims=True) + xp.sum(a(N), axis=1, keepdims=True),
    "sum of booleans": lambda xp, a: xp.sum(a(N > 0), axis=-1),
    "sum of nothing": lambda xp, a: xp.sum(a(X)[:, :0], axis=1) + xp.prod(a(X)[:, :0], axis=1),
    "prod": lambda xp, a: xp.prod(a(X), axis=1),
    "mean var": lambda xp, a: xp.mean(a(X), axis=1) + xp.var(a(X), axis=1, correction=1),
    "max min": lambda xp, a: xp.max(a(X), axis=(0, 1)) - xp.min(a(X), axis=0, keepdims=True),
    "max of integers": lambda xp, a: xp.max(a(N), axis=1) + xp.min(a(N)),
    "any all": lambda xp, a: xp.any(a(N > 3), axis=1) | xp.all(a(N), axis=1),
    "cumulative_sum": lambda xp, a: xp.cumulative_sum(a(X), axis=1, include_initial=True),
    "cumulative_sum of nothing": lambda xp, a: xp.cumulative_sum(a(X)[:, :0], axis=1),
    "cumulative_sum of integers": lambda xp, a: xp.cumulative_sum(a(N), axis=2),
    "maximum minimum": lambda xp, a: xp.maximum(a(X), 1) + xp.minimum(a(X), a(N)),
    "clip": lambda xp, a: xp.clip(a(X), -1, 2) + xp.clip(a(N), max=2),
    "sign": lambda xp, a: xp.sign(a(X)) + xp.sign(a(N)),
    "floor ceil trunc": lambda xp, a: xp.floor(a(X)) + 10 * xp.ceil(a(X)) + 100 * xp.trunc(a(X)),
    "round": lambda xp, a: xp.round(a(X)) + 10 * xp.round(a(X) * 2),
    "square sqrt": lambda xp, a: xp.sqrt(xp.square(a(X))),
    "comparisons": lambda xp, a: (a(X) < 1) | (a(X) >= 2) & (a(X) != 3) | (a(X) == -1) ^ (a(N) <= 2) | ~(a(N) > 1),
    "logical": lambda xp, a: xp.logical_or(xp.logical_and(a(N > 0), a(X > 0)), xp.logical_not(a(N > -1))),
    "bits": lambda xp, a: (a(N) & 3) | (a(N) ^ 5) + (a(N) << 2) - (a(N) >> 1) + ~a(N),
    "isfinite": lambda xp, a: xp.isfinite(xp.where(a(N > 2), a(X), -xp.inf)),
    "isinf isnan": lambda xp, a: xp.isinf(xp.where(a(N > 2), a(X), -xp.inf)) & ~xp.isnan(a(X)),
    "infinity": lambda xp, a: xp.max(xp.where(a(N > 2), a(X), -xp.inf), axis=-1),
    "argsort": lambda xp, a: xp.argsort(a(N), axis=1) + xp.argmax(a(N), axis=1, keepdims=True),
    "nonzero": lambda xp, a: xp.stack(xp.nonzero(a(N))),
}


@pytest.mark.parametrize("xp", [Exact(), Nearest("f64")], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_is_numpys(name, xp):
    got, want = both(xp, FUNCTIONS[name])
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    assert np.array_equal(got, want)


@pytest.mark.parametrize("xp", [Exact(), Nearest("f64")], ids=str)
@pytest.mark.parametrize(
    "name", ["exp", "expm1", "log", "log1p", "log2", "sin", "cos", "tan", "sinh", "cosh", "tanh", "atan", "sqrt"]
)
def test_elementary_function_is_numpys_up_to_rounding(name, xp):
    x = np.linspace(0.1, 3, 50)
    got, want = both(xp, lambda xp, a: getattr(xp, name)(a(x)))
    assert np.allclose(got, want, rtol=4e-16, atol=0)


def test_constants_are_not_floats():
    got = prove(lambda xp: {"pi": xp.pi * 1, "e": xp.e, "third": xp.constant(1) / 3, "tenth": xp.constant(0.1)})
    assert [got[n].item() for n in ("pi", "e", "third", "tenth")] == [np.pi, np.e, 1 / 3, 0.1]
    assert got["pi"].shape == ()


@everywhere
def test_scatter_add_adds_repeated_ids(xp):
    ids, updates = np.asarray([[0, 2], [2, 2]]), np.arange(1.0, 9).reshape(2, 2, 2)
    sums = xp.scatter_add(xp.asarray(ids), xp.asarray(updates), 4)
    assert xp.all(sums == xp.asarray(np.asarray([[1.0, 2], [0, 0], [15, 18], [0, 0]])))
    assert xp.all(xp.scatter_add(xp.asarray(ids), xp.asarray(ids), 3) == xp.asarray([0, 0, 6]))
    with pytest.raises(ValueError, match=r"ids: got 0 \.\. 2; allowed: 0 \.\. 1"):
        xp.scatter_add(xp.asarray(ids), xp.asarray(updates), 2)


@everywhere
def test_rational_powers_leave_nothing_for_a_tail(xp):
    power, tail = xp.rational_powers(4.0, [0, 2, -4, 1], 4)
    assert xp.all(power[:3] == xp.asarray([1, 2, 1]) / xp.asarray([1, 1, 4]))
    assert xp.all(tail == 0)
    assert power.shape == tail.shape == (4,)


@everywhere
def test_bad_shapes_are_named(xp):
    x = xp.asarray(np.ones((2, 3)))
    with pytest.raises(ValueError, match=r"matmul: got shapes \(2, 3\) and \(2, 3\)"):
        x @ x
    with pytest.raises(ValueError, match=r"max: got shape \(2, 0\)"):
        xp.max(x[:, :0], axis=1)
    with pytest.raises(ValueError, match=r"x\.T: got 3 dimensions"):
        _ = x[None].T
    with pytest.raises(TypeError, match="argmax: got reals"):
        xp.argmax(x)


def test_profiles_do_not_need_flint():
    code = "import sys; sys.modules['flint'] = None; from refimpl.exact.profiles import PROFILES; print(*PROFILES)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["f64", "f32", "bf16", "f16"]
