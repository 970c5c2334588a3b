// ALiBi: the slopes of H heads, and the bias -m |i - j|, or +m j (key_only).
#pragma once

#include <cmath>

#include "request.hpp"

template <typename T>
void alibi_slopes(Case& here) {
    const auto H = static_cast<std::size_t>(here.need("H"));
    const double max_bias = here.option("max_bias").value_or(8);
    std::size_t n = 1;
    while (2 * n <= H) n *= 2;
    auto slopes = zeros<T>({H});
    for (std::size_t h = 0; h < H; ++h) {  // powers of two in order, then every other slope of twice as many heads
        const double share = h < n ? double(h + 1) / double(n) : double(2 * (h - n) + 1) / double(2 * n);
        slopes[h] = static_cast<T>(std::exp2(-max_bias * share));
    }
    here.put("y", slopes);
}

template <typename T>
void alibi(Case& here) {
    const auto slopes = here.get<T>("in.slopes");
    const std::size_t H = slopes.values.size();
    const auto T_ = static_cast<std::int64_t>(here.need("T")), S = static_cast<std::int64_t>(here.need("S"));
    const auto q_offset = static_cast<std::int64_t>(here.option("q_offset").value_or(0));
    const bool key_only = here.option("key_only").value_or(0) != 0;
    const auto factor = [&](std::int64_t i, std::int64_t j) {  // an integer, exact in T
        return static_cast<T>(key_only ? j : -std::abs(q_offset + i - j));
    };
    auto y = zeros<T>({H, static_cast<std::size_t>(T_), static_cast<std::size_t>(S)});
    for (std::size_t h = 0, at = 0; h < H; ++h)
        for (std::int64_t i = 0; i < T_; ++i)
            for (std::int64_t j = 0; j < S; ++j) y[at++] = slopes[h] * factor(i, j);
    here.put("y", y);
    if (!here.backward()) return;

    const auto dy = here.get<T>("cot.y");
    auto dslopes = zeros<T>(slopes.shape);
    for (std::size_t h = 0, at = 0; h < H; ++h)
        for (std::int64_t i = 0; i < T_; ++i)
            for (std::int64_t j = 0; j < S; ++j) dslopes[h] += dy[at++] * factor(i, j);
    here.put("grad.slopes", dslopes);
}
