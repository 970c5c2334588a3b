// Softmax of the last axis. A mask selects; a row without keys is 0, and so is its gradient.
#pragma once

#include <cmath>
#include <limits>

#include "request.hpp"

template <typename T>
void softmax(Case& here) {
    const auto x = here.get<T>("in.x");
    const auto mask = here.maybe<std::uint8_t>("in.mask");
    const std::size_t S = x.shape.back(), rows = x.values.size() / S;
    const auto seen_at = mask ? spread(mask->shape, x.shape) : std::vector<std::size_t>{};
    const auto seen = [&](std::size_t i) { return !mask || (*mask)[seen_at[i]]; };

    auto y = zeros<T>(x.shape);
    for (std::size_t row = 0; row < rows; ++row) {
        T largest = -std::numeric_limits<T>::infinity(), total = 0;
        for (std::size_t i = row * S; i < (row + 1) * S; ++i)
            if (seen(i)) largest = std::max(largest, x[i]);
        for (std::size_t i = row * S; i < (row + 1) * S; ++i)
            if (seen(i)) total += y[i] = std::exp(x[i] - largest);
        for (std::size_t i = row * S; i < (row + 1) * S; ++i)
            if (seen(i)) y[i] /= total;
    }
    here.put("y", y);
    if (!here.backward()) return;

    const auto dy = here.get<T>("cot.y");
    auto dx = zeros<T>(x.shape);
    for (std::size_t row = 0; row < rows; ++row) {
        T mean = 0;
        for (std::size_t i = row * S; i < (row + 1) * S; ++i) mean += y[i] * dy[i];
        for (std::size_t i = row * S; i < (row + 1) * S; ++i) dx[i] = y[i] * (dy[i] - mean);
    }
    here.put("grad.x", dx);
}
