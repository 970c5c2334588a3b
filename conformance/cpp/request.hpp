// One case as an op sees it: arrays and options by name, and the gradients that are wanted.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tensors.hpp"

struct Unsupported : std::runtime_error {
    using std::runtime_error::runtime_error;
};

template <typename T>
struct Array {
    Shape shape;
    std::vector<T> values;

    T& operator[](std::size_t i) { return values[i]; }
    const T& operator[](std::size_t i) const { return values[i]; }
};

template <typename T>
Array<T> zeros(const Shape& shape) {
    return {shape, std::vector<T>(size_of(shape))};
}

// Where each element of a result of shape `to` finds its operand, which broadcasts from `from`.
inline std::vector<std::size_t> spread(const Shape& from, const Shape& to) {
    if (from.size() > to.size()) throw std::invalid_argument("an operand has more axes than the result");
    std::vector<std::size_t> strides(to.size(), 0), found(size_of(to));
    std::size_t stride = 1;
    for (std::size_t axis = from.size(); axis-- > 0;) {
        const std::size_t aligned = axis + to.size() - from.size();
        if (from[axis] != 1 && from[axis] != to[aligned]) throw std::invalid_argument("shapes do not broadcast");
        strides[aligned] = from[axis] == 1 ? 0 : stride;
        stride *= from[axis];
    }
    for (std::size_t i = 0; i < found.size(); ++i)
        for (std::size_t axis = to.size(), rest = i; axis-- > 0; rest /= to[axis]) found[i] += rest % to[axis] * strides[axis];
    return found;
}

class Case {
  public:
    std::string op;
    std::set<std::string> want;
    Tensors found;

    Case(const json::Value& entry, Tensors given) : op(entry["op"].text), given_(std::move(given)), params_(entry["params"]) {
        for (const auto& name : entry["want"].items) want.insert(name.text);
    }

    template <typename T>
    std::optional<Array<T>> maybe(const std::string& name) const {
        const auto here = given_.find(name);
        if (here == given_.end()) return std::nullopt;
        return Array<T>{here->second.shape, here->second.values<T>()};
    }

    template <typename T>
    Array<T> get(const std::string& name) const {
        auto here = maybe<T>(name);
        if (!here) throw std::invalid_argument(name + " is missing");
        return std::move(*here);
    }

    // An option: its value, or nothing where it is absent or null.
    std::optional<double> option(const std::string& name) const {
        const auto here = params_.fields.find(name);
        if (here == params_.fields.end() || here->second.kind == json::Value::null) return std::nullopt;
        return here->second.real;
    }

    double need(const std::string& name) const {
        const auto here = option(name);
        if (!here) throw std::invalid_argument(name + " is missing");
        return *here;
    }

    template <typename T>
    void put(const std::string& name, const Array<T>& result) {
        if (want.count(name)) found[name] = tensor(result.shape, result.values);
    }

    bool backward() const {
        return std::any_of(want.begin(), want.end(), [](const auto& name) { return name.rfind("grad.", 0) == 0; });
    }

  private:
    Tensors given_;
    json::Value params_;
};
