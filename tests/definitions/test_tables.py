"""Lookups, the tied head and the resized table against torch."""

from __future__ import annotations

import numpy as np
import pytest

from .checks import assert_agrees, assert_gradient_is_the_derivative, close, tensors, y

RANDOM = np.random.default_rng(31)
IDS = np.array([[4, 1, 4], [0, 2, 4]])
WEIGHT = RANDOM.normal(size=(5, 3))
GRID = {"height": 3, "width": 2, "new_height": 5, "new_width": 3}
HALVED = {"height": 8, "width": 1, "new_height": 4, "new_width": 1}
CASES = {
    "learned_position": ({"positions": IDS, "weight": WEIGHT}, {"padding_idx": 4}),
    "tied_head": ({"h": RANDOM.normal(size=(2, 3)), "weight": WEIGHT, "bias": RANDOM.normal(size=5)}, {}),
    "segment_embedding": ({"segments": np.array([[0, 0, 1]]), "weight": RANDOM.normal(size=(2, 3))}, {}),
    "interpolate_positions": ({"weight": RANDOM.normal(size=(7, 2))}, {**GRID, "prefix": 1}),
}


@pytest.mark.parametrize("op", CASES)
def test_gradient_is_the_derivative(op):
    assert_gradient_is_the_derivative(op, *CASES[op])


def test_renorm_is_what_torch_does_to_the_weight_in_place():
    weight = np.array([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]])
    torch, t = tensors({"ids": np.array([0, 1, 0]), "weight": weight})
    with torch.no_grad():
        torch.nn.functional.embedding(t["ids"], t["weight"], max_norm=2.0)
    got = y("renorm_table", {"ids": np.array([0, 1, 0]), "weight": weight}, max_norm=2.0)
    close(got, t["weight"].detach().numpy(), 1e-15)
    close(got[1:], weight[1:], 0)  # a short row; a row that is not looked up


def test_renorm_of_a_row_of_norm_two_stops_below_one():
    """2 / (2 + 1e-7) is 0.99999995."""
    got = y("renorm_table", {"ids": np.array(0), "weight": np.array([[2.0, 0.0]])}, max_norm=1.0)
    close(got, [[0.99999995, 0]], 1e-14)


def test_gradient_divided_by_frequency_is_torch_scale_grad_by_freq():
    inputs = {"ids": IDS, "weight": WEIGHT}
    torch, t = tensors(inputs)
    result = torch.nn.functional.embedding(t["ids"], t["weight"], padding_idx=1, scale_grad_by_freq=True)
    assert_agrees("token_embedding", inputs, {"padding_idx": 1, "scale_grad_by_freq": True}, {"y": result}, t)


def test_learned_position_is_torch_embedding():
    inputs, params = CASES["learned_position"]
    torch, t = tensors(inputs)
    result = torch.nn.functional.embedding(t["positions"], t["weight"], padding_idx=4)
    assert_agrees("learned_position", inputs, params, {"y": result}, t)


def test_tied_head_is_torch_linear_on_the_table():
    inputs, params = CASES["tied_head"]
    torch, t = tensors(inputs)
    assert_agrees("tied_head", inputs, params, {"y": torch.nn.functional.linear(t["h"], t["weight"], t["bias"])}, t)


def halved(antialias):
    return y("interpolate_positions", {"weight": np.eye(8)}, **HALVED, antialias=antialias)


def test_weights_halfway_between_two_rows():
    """Keys' kernel with a = -3/4: -3/32, 19/32, 19/32, -3/32; what falls off the edge goes to the edge."""
    outer, inner = -3 / 32, 19 / 32
    close(halved(False)[1], [0, outer, inner, inner, outer, 0, 0, 0], 1e-15)
    close(halved(False)[0], [outer + inner, inner, outer, 0, 0, 0, 0, 0], 1e-15)


def test_weights_of_the_widened_kernel():
    """With a = -1/2, twice as wide: -3, -9, 29, 111, 111, 29, -9, -3 over 256; without the first, over 259."""
    close(halved(True)[1], np.array([-9, 29, 111, 111, 29, -9, -3, 0]) / 259, 1e-15)
    close([sum(row) for row in halved(True)], np.ones(4), 1e-15)


@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("new", [(5, 3), (2, 7), (3, 2), (1, 1)])
def test_interpolation_is_torch_bicubic(antialias, new):
    inputs = {"weight": RANDOM.normal(size=(2 + 3 * 2, 4))}
    torch, t = tensors(inputs)
    grid = t["weight"][2:].reshape(1, 3, 2, 4).permute(0, 3, 1, 2)
    resized = torch.nn.functional.interpolate(grid, new, mode="bicubic", align_corners=False, antialias=antialias)
    result = torch.cat([t["weight"][:2], resized.permute(0, 2, 3, 1).reshape(-1, 4)])
    params = {"height": 3, "width": 2, "new_height": new[0], "new_width": new[1], "prefix": 2, "antialias": antialias}
    assert_agrees("interpolate_positions", inputs, params, {"y": result}, t)
