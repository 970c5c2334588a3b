// Attention in one pass over the keys (online softmax); the backward pass recomputes the weights from lse.
#pragma once

#include <cmath>
#include <limits>

#include "request.hpp"

template <typename T>
class Attention {
  public:
    explicit Attention(Case& here)
        : q(here.get<T>("in.q")), k(here.get<T>("in.k")), v(here.get<T>("in.v")), bias(here.maybe<T>("in.bias")),
          sink(here.maybe<T>("in.sink")), mask(here.maybe<std::uint8_t>("in.mask")), keep(here.maybe<std::uint8_t>("in.keep")) {
        const std::size_t axes = q.shape.size();
        if (axes < 3 || k.shape.size() != axes || v.shape.size() != axes) throw std::invalid_argument("q, k, v: (..., H, T, D)");
        H = q.shape[axes - 3], L = q.shape[axes - 2], D = q.shape[axes - 1];
        G = k.shape[axes - 3], S = k.shape[axes - 2], E = v.shape[axes - 1];
        B = q.values.size() / (H * L * D);
        if (H % G || k.shape[axes - 1] != D || v.shape[axes - 2] != S) throw std::invalid_argument("q, k, v do not fit");
        scale = static_cast<T>(here.option("scale").value_or(1 / std::sqrt(static_cast<double>(D))));
        cap = static_cast<T>(here.option("softcap").value_or(0));
        kept = static_cast<T>(1 / (1 - here.option("p").value_or(0)));
        causal = here.option("q_offset").has_value();
        q_offset = static_cast<std::int64_t>(here.option("q_offset").value_or(0));
        Shape scores = q.shape;
        scores.back() = S;
        if (bias) bias_at = spread(bias->shape, scores);
        if (mask) mask_at = spread(mask->shape, scores);
        if (keep) keep_at = spread(keep->shape, scores);
    }

    void forward() {
        Shape rows(q.shape.begin(), q.shape.end() - 1), out = q.shape;
        out.back() = E;
        y = zeros<T>(out), lse = zeros<T>(rows);
        for (std::size_t row = 0; row < B * H * L; ++row) {
            T largest = sink ? (*sink)[head(row)] : -std::numeric_limits<T>::infinity(), total = sink ? 1 : 0;
            T* const sum = &y[row * E];
            for (std::size_t j = 0; j < S; ++j) {
                if (!visible(row, j)) continue;
                const T s = score(row, j).biased, top = std::max(largest, s);
                const T fade = std::exp(largest - top), weight = std::exp(s - top);
                largest = top, total = total * fade + weight;
                const T used = weight * dropped(row, j), *value = &v[(group(row) * S + j) * E];
                for (std::size_t e = 0; e < E; ++e) sum[e] = sum[e] * fade + used * value[e];
            }
            lse[row] = total > 0 ? largest + std::log(total) : -std::numeric_limits<T>::infinity();
            for (std::size_t e = 0; e < E && total > 0; ++e) sum[e] /= total;
        }
    }

    void backward(const std::optional<Array<T>>& dy, const std::optional<Array<T>>& dlse) {
        dq = zeros<T>(q.shape), dk = zeros<T>(k.shape), dv = zeros<T>(v.shape);
        dbias = zeros<T>(bias ? bias->shape : Shape{0}), dsink = zeros<T>(sink ? sink->shape : Shape{0});
        for (std::size_t row = 0; row < B * H * L; ++row) {
            if (std::isinf(lse[row])) continue;  // no keys
            T shift = dlse ? (*dlse)[row] : 0;
            for (std::size_t e = 0; dy && e < E; ++e) shift -= (*dy)[row * E + e] * y[row * E + e];
            if (sink) dsink[head(row)] += std::exp((*sink)[head(row)] - lse[row]) * shift;
            for (std::size_t j = 0; j < S; ++j)
                if (visible(row, j)) one_score(row, j, dy ? &(*dy)[row * E] : nullptr, shift);
        }
    }

    Array<T> y, lse, dq, dk, dv, dbias, dsink;

  private:
    struct Score {
        T biased, slope;  // slope: of the cap
    };

    Array<T> q, k, v;
    std::optional<Array<T>> bias, sink;
    std::optional<Array<std::uint8_t>> mask, keep;
    std::vector<std::size_t> bias_at, mask_at, keep_at;
    std::size_t B, H, G, L, S, D, E;
    T scale, cap, kept;
    bool causal;
    std::int64_t q_offset;

    std::size_t head(std::size_t row) const { return row / L % H; }
    std::size_t group(std::size_t row) const { return row / (L * H) * G + head(row) / (H / G); }

    bool visible(std::size_t row, std::size_t j) const {
        if (causal && static_cast<std::int64_t>(j) > static_cast<std::int64_t>(row % L) + q_offset) return false;
        return !mask || (*mask)[mask_at[row * S + j]];
    }

    T dropped(std::size_t row, std::size_t j) const {
        return !keep ? T(1) : (*keep)[keep_at[row * S + j]] ? kept : T(0);
    }

    Score score(std::size_t row, std::size_t j) const {
        const T *query = &q[row * D], *key = &k[(group(row) * S + j) * D];
        T s = 0, slope = 1;
        for (std::size_t d = 0; d < D; ++d) s += query[d] * key[d];
        s *= scale;
        if (cap > 0) {
            const T t = std::tanh(s / cap);
            s = cap * t, slope = (1 - t) * (1 + t);
        }
        return {bias ? s + (*bias)[bias_at[row * S + j]] : s, slope};
    }

    void one_score(std::size_t row, std::size_t j, const T* dy, T shift) {
        const std::size_t key = group(row) * S + j;
        const Score s = score(row, j);
        const T weight = std::exp(s.biased - lse[row]), used = weight * dropped(row, j);
        T dweight = 0;
        for (std::size_t e = 0; dy && e < E; ++e) {
            dweight += dy[e] * v[key * E + e];
            dv[key * E + e] += used * dy[e];
        }
        T ds = weight * (dweight * dropped(row, j) + shift);
        if (bias) dbias[bias_at[row * S + j]] += ds;
        ds *= s.slope * scale;
        for (std::size_t d = 0; d < D; ++d) {
            dq[row * D + d] += ds * k[key * D + d];
            dk[key * D + d] += ds * q[row * D + d];
        }
    }
};

template <typename T>
void attention(Case& here) {
    Attention<T> run(here);
    run.forward();
    here.put("y", run.y), here.put("lse", run.lse);
    if (!here.backward()) return;
    run.backward(here.maybe<T>("cot.y"), here.maybe<T>("cot.lse"));
    here.put("grad.q", run.dq), here.put("grad.k", run.dk), here.put("grad.v", run.dv);
    here.put("grad.bias", run.dbias), here.put("grad.sink", run.dsink);
}
