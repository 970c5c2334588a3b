"""Outputs that are sums of products of input entries: one list of terms gives both the value and its derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .scalars import Arrays, Inputs, Params, cotangent, exact, precise, zeros

Index = tuple[int, ...]
Term = tuple[Index, Any, list[tuple[str, Index]]]
Terms = Callable[[Arrays, Params], tuple[Index, Iterator[Term]]]


def product(factor: Any, arrays: Arrays, reads: list[tuple[str, Index]]) -> Any:
    for name, index in reads:
        factor = factor * arrays[name][index]
    return factor


def sum_of_products(terms: Terms) -> tuple[Callable[..., Arrays], Callable[..., Arrays]]:
    """Definition and gradient of y[at] = sum over its terms of factor times the entries that the term reads."""

    @precise
    def definition(inputs: Inputs, params: Params) -> Arrays:
        arrays = {name: exact(array) for name, array in inputs.items()}
        shape, listed = terms(arrays, params)
        y = zeros(shape)
        for at, factor, reads in listed:
            y[at] += product(factor, arrays, reads)
        return {"y": y}

    @precise
    def gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
        arrays = {name: exact(array) for name, array in inputs.items()}
        shape, listed = terms(arrays, params)
        dy = cotangent(cotangents, "y", shape)
        result = {name: zeros(np.shape(array)) for name, array in arrays.items()}
        for at, factor, reads in listed:
            for n, (name, index) in enumerate(reads):
                result[name][index] += product(factor * dy[at], arrays, reads[:n] + reads[n + 1 :])
        return result

    definition.__doc__ = terms.__doc__
    gradient.__doc__ = f"Product rule on: {terms.__doc__}"
    return definition, gradient
