"""The contract that every op keeps, read off the table and off the source."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from jaxtyping import TypeCheckError

import refimpl
from refimpl import namespace
from refimpl.ops import OPS, run
from refimpl.rotary.rope import split_pairs

ROOT = Path(refimpl.__file__).parent
DOORS = [
    ROOT / "angles.py",
    *(f for door in ("embeddings", "rotary", "bias", "attention") for f in sorted((ROOT / door).glob("*.py"))),
]
FUNCTIONS = [f for op in OPS.values() for f in (op.forward, op.backward) if f]


def trees() -> list[tuple[Path, ast.Module]]:
    return [(path, ast.parse(path.read_text())) for path in DOORS]


@pytest.mark.parametrize("name", OPS)
def test_table_agrees_with_the_signatures(name):
    op = OPS[name]
    parameters = inspect.signature(op.forward).parameters
    assert [p for p in parameters if p in op.arrays] == list(op.arrays)
    positional = [p for p, value in parameters.items() if value.kind is not value.KEYWORD_ONLY]
    assert set(op.gradients) <= set(positional)
    assert [p for p in positional if p in op.gradients] == list(op.gradients)
    assert bool(op.gradients) == bool(op.backward)
    assert getattr(refimpl, op.forward.__name__).__name__ == op.forward.__name__


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_docstrings_show_formula_and_source(function):
    doc = function.__doc__
    assert doc.split("\n")[0].endswith((".", ":"))
    formula = any(" = " in line or "^(" in line for line in doc.split("\n")[2:])
    assert formula or function is OPS["multi_head_attention"].backward  # the parts show theirs
    if not function.__name__.endswith("_backward"):
        assert "Source:" in doc
        assert "Raises ValueError" in doc


@pytest.mark.parametrize("name", [name for name, op in OPS.items() if op.backward])
def test_residuals_are_named(name):
    module = inspect.getmodule(OPS[name].forward)
    classes = [
        c
        for _, c in inspect.getmembers(module, inspect.isclass)
        if c.__name__.endswith("Residuals") and c.__module__ == module.__name__
    ]
    assert len(classes) == 1
    assert hasattr(classes[0], "_fields")


def test_ops_are_plain_array_api():
    """No array library by name, no write in place, no einsum, nothing from the machinery around the ops."""
    for path, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                module = getattr(node, "module", None) or node.names[0].name
                assert module.split(".")[0] not in {"numpy", "torch", "jax", "flint", "cupy"}, (path, node.lineno)
                assert module.split(".")[0] not in {"exact", "fixtures", "check", "mistakes", "cli"}, (
                    path,
                    node.lineno,
                )
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            assert not any(isinstance(target, ast.Subscript) for target in targets), (path, node.lineno)
            assert not (isinstance(node, ast.Attribute) and node.attr == "einsum"), (path, node.lineno)


def test_constants_are_bare_names():
    """constant(1 / D, ...) would have rounded before exact arithmetic could know of it."""
    calls = [
        (path, node)
        for path, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "constant"
    ]
    assert len(calls) >= 4
    for path, node in calls:
        assert isinstance(node.args[0], ast.Name), (path, node.lineno)


def test_no_real_constant_but_whole_numbers():
    for path, tree in trees():
        allowed = {
            id(d)
            for f in ast.walk(tree)
            if isinstance(f, ast.FunctionDef)
            for d in [*f.args.defaults, *f.args.kw_defaults]
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, float) and id(node) not in allowed:
                assert node.value.is_integer(), (path, node.lineno)


def test_modules_and_functions_stay_short():
    for path, tree in trees():
        assert len(path.read_text().split("\n")) <= 160, path
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                doc = ast.get_docstring(node, clean=False) or ""
                signature = node.body[0].lineno - node.lineno
                body = node.end_lineno - node.lineno - signature - doc.count("\n")
                assert body <= 30, (path, node.name, body)


def test_shapes_in_signatures_are_checked_here():
    """The tests run with jaxtyping's checks on, so that a wrong annotation fails any of them."""
    with pytest.raises(TypeCheckError):
        split_pairs(np.ones(4, int), interleaved=True)


def test_import_is_light():
    """numpy, array-api-compat and jaxtyping; nothing of flint, safetensors, typer or a framework."""
    code = "import sys, refimpl; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "refimpl" in loaded
    heavy = {
        "flint",
        "safetensors",
        "ml_dtypes",
        "typer",
        "click",
        "rich",
        "jsonschema",
        "torch",
        "jax",
        "scipy",
        "mpmath",
    }
    assert not heavy & set(loaded)


def test_namespace_refuses_no_arrays_and_mixed_libraries():
    with pytest.raises(TypeError):
        namespace.array_namespace(None)
    strict = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    with pytest.raises(TypeError):
        namespace.array_namespace(np.ones(2), strict.ones(2))


def test_unbroadcast_sums_what_broadcasting_copied():
    gradient = np.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(namespace.unbroadcast(gradient, (3, 1)), gradient.sum((0, 2))[:, None])
    np.testing.assert_array_equal(namespace.unbroadcast(gradient, ()), gradient.sum())
    np.testing.assert_array_equal(namespace.unbroadcast(gradient, (2, 3, 4)), gradient)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ropee", {}, {}, ["y"]), "op: got 'ropee'; allowed: 'token_embedding'"),
        (("softmax", {"axis": 0}, {"x": np.ones(3)}, ["y"]), "params: got 'axis'; allowed: "),
        (("softmax", {}, {"x": np.ones(3), "z": np.ones(3)}, ["y"]), "inputs: got 'z'; allowed: 'x', 'mask', 'cot.y'"),
        (("softmax", {}, {"x": np.ones(3), "cot.y": np.ones(3)}, ["grad.z"]), "want: got 'grad.z'"),
        (("alibi", {"T": 2, "S": 2}, {}, ["y"]), "inputs: got no 'slopes'"),
        (("alibi", {"T": 2}, {"slopes": np.ones(2)}, ["y"]), "params: got no 'S'"),
        (("softmax", {}, {"x": np.ones(3)}, ["grad.x"]), "inputs: got no cotangent; allowed: 'cot.y'"),
        (("rope_cos_sin", {"D": 4, "dtype": "int8"}, {"positions": np.arange(3)}, ["cos"]), "dtype"),
    ],
)
def test_run_says_what_is_wrong(arguments, message):
    with pytest.raises(ValueError, match=message):
        run(*arguments)
