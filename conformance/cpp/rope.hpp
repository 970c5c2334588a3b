// Rotary embedding of the first 2F channels by tables of half width, (..., T, F), and its gradients.
#pragma once

#include "request.hpp"

// Channels of pair f: (2f, 2f + 1) interleaved, (f, f + F) in halves.
struct Pairs {
    bool interleaved;
    std::size_t F;

    std::size_t first(std::size_t f) const { return interleaved ? 2 * f : f; }
    std::size_t second(std::size_t f) const { return interleaved ? 2 * f + 1 : f + F; }
};

template <typename T>
void rope(Case& here) {
    const auto x = here.get<T>("in.x"), cos = here.get<T>("in.cos"), sin = here.get<T>("in.sin");
    const std::size_t D = x.shape.back(), F = cos.shape.back(), rows = x.values.size() / D;
    if (cos.shape != sin.shape) throw std::invalid_argument("cos and sin differ in shape");
    if (2 * F > D || (here.op == "rope" && 2 * F != D)) throw std::invalid_argument("the tables do not fit x");
    Shape angles = x.shape;
    angles.back() = F;
    const auto table = spread(cos.shape, angles);
    const bool interleaved = here.option("interleaved").value_or(1) != 0;
    const Pairs in{interleaved, F}, out{here.option("interleaved_output").value_or(interleaved) != 0, F};

    auto y = x;  // what lies behind the pairs passes
    for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t f = 0; f < F; ++f) {
            const T c = cos[table[row * F + f]], s = sin[table[row * F + f]];
            const T a = x[row * D + in.first(f)], b = x[row * D + in.second(f)];
            y[row * D + out.first(f)] = a * c - b * s;
            y[row * D + out.second(f)] = a * s + b * c;
        }
    here.put("y", y);
    if (!here.backward()) return;

    const auto dy = here.get<T>("cot.y");
    auto dx = dy, dcos = zeros<T>(cos.shape), dsin = zeros<T>(sin.shape);
    for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t f = 0; f < F; ++f) {
            const std::size_t at = table[row * F + f];
            const T c = cos[at], s = sin[at], a = x[row * D + in.first(f)], b = x[row * D + in.second(f)];
            const T da = dy[row * D + out.first(f)], db = dy[row * D + out.second(f)];
            dx[row * D + in.first(f)] = da * c + db * s;  // turned back
            dx[row * D + in.second(f)] = db * c - da * s;
            dcos[at] += a * da + b * db;
            dsin[at] += a * db - b * da;
        }
    here.put("grad.x", dx), here.put("grad.cos", dcos), here.put("grad.sin", dsin);
}
