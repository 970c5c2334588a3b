// Tensors by name, and the safetensors files that hold them: 8 bytes of header length, JSON, little-endian data.
#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "json.hpp"

using Shape = std::vector<std::size_t>;

inline std::size_t size_of(const Shape& shape) {
    return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

template <typename T>
const char* dtype_of() {
    if (std::is_same_v<T, double>) return "F64";
    if (std::is_same_v<T, float>) return "F32";
    if (std::is_same_v<T, std::int64_t>) return "I64";
    return "BOOL";
}

struct Tensor {
    std::string dtype;
    Shape shape;
    std::string bytes;

    template <typename T>
    std::vector<T> values() const {
        if (dtype != dtype_of<T>()) throw std::invalid_argument("dtype " + dtype + ", want " + dtype_of<T>());
        std::vector<T> found(size_of(shape));
        if (bytes.size() != found.size() * sizeof(T)) throw std::invalid_argument("bytes and shape disagree");
        std::memcpy(found.data(), bytes.data(), bytes.size());
        return found;
    }
};

using Tensors = std::map<std::string, Tensor>;

template <typename T>
Tensor tensor(const Shape& shape, const std::vector<T>& values) {
    return {dtype_of<T>(), shape, std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T))};
}

inline std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + path);
    return {std::istreambuf_iterator<char>(file), {}};
}

inline Tensors read_tensors(const std::string& path) {
    const std::string file = read_file(path);
    std::uint64_t length = 0;
    if (file.size() < 8) throw std::runtime_error(path + " ends early");
    std::memcpy(&length, file.data(), 8);
    if (length > file.size() - 8) throw std::runtime_error(path + " ends early");
    const json::Value header = json::parse(file.substr(8, length));
    Tensors found;
    for (const auto& [name, entry] : header.fields) {
        if (name == "__metadata__") continue;
        Tensor& here = found[name];
        here.dtype = entry["dtype"].text;
        for (const auto& extent : entry["shape"].items) here.shape.push_back(static_cast<std::size_t>(extent.real));
        const auto& offsets = entry["data_offsets"].items;
        const auto begin = static_cast<std::size_t>(offsets.at(0).real), end = static_cast<std::size_t>(offsets.at(1).real);
        if (begin > end || 8 + length + end > file.size()) throw std::runtime_error(path + " ends early");
        here.bytes = file.substr(8 + length + begin, end - begin);
    }
    return found;
}

inline void write_tensors(const std::string& path, const Tensors& tensors) {
    std::string header = "{", data;
    for (const auto& [name, here] : tensors) {
        std::string shape;
        for (const std::size_t extent : here.shape) shape += (shape.empty() ? "" : ",") + std::to_string(extent);
        header += (header.size() > 1 ? "," : "") + json::quoted(name) + ":{\"dtype\":\"" + here.dtype + "\",\"shape\":[" +
                  shape + "],\"data_offsets\":[" + std::to_string(data.size()) + "," +
                  std::to_string(data.size() + here.bytes.size()) + "]}";
        data += here.bytes;
    }
    header += "}";
    header.resize((header.size() + 7) / 8 * 8, ' ');
    const std::uint64_t length = header.size();
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(&length), 8) << header << data;
    if (!file.flush()) throw std::runtime_error("cannot write " + path);
}
