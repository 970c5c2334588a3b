// Kernels in C++17 behind the directory protocol of `refimpl check`: COMMAND --in REQ --out OUT.
//
//     g++ -std=c++17 -O2 -ffp-contract=off -o kernels conformance/cpp/main.cpp
//     refimpl check --claims conformance/claims/cpp.json -- ./kernels
#include <filesystem>
#include <iostream>

#include "alibi.hpp"
#include "attention.hpp"
#include "rope.hpp"
#include "softmax.hpp"

template <typename T>
void run(Case& here) {
    static const std::map<std::string, void (*)(Case&)> ops = {
        {"rope", rope<T>},   {"partial_rope", rope<T>}, {"softmax", softmax<T>},
        {"alibi", alibi<T>}, {"alibi_slopes", alibi_slopes<T>}, {"attention", attention<T>},
    };
    const auto op = ops.find(here.op);
    if (op == ops.end()) throw Unsupported("op " + here.op);
    op->second(here);
    for (const auto& name : here.want)
        if (!here.found.count(name)) throw Unsupported(name);
}

// Answer one case; return its status, and say in `detail` what went wrong.
std::string answer(const json::Value& entry, const std::string& in, const std::string& out, std::string& detail) {
    try {
        Case here(entry, read_tensors(in + "/" + entry["file"].text));
        const std::string& profile = entry["profile"].text;
        if (profile == "f64") run<double>(here);
        else if (profile == "f32") run<float>(here);
        else throw Unsupported("profile " + profile);
        write_tensors(out, here.found);
        return "ok";
    } catch (const Unsupported& error) {
        detail = error.what();
        return "unsupported";
    } catch (const std::invalid_argument& error) {
        detail = error.what();
        return "rejected";
    } catch (const std::exception& error) {
        detail = error.what();
        return "error";
    }
}

int main(int count, char** words) {
    std::string in, out;
    for (int i = 1; i + 1 < count; i += 2) {
        if (words[i] == std::string("--in")) in = words[i + 1];
        if (words[i] == std::string("--out")) out = words[i + 1];
    }
    if (in.empty() || out.empty()) {
        std::cerr << "usage: kernels --in REQ --out OUT\n";
        return 2;
    }
    try {
        const json::Value request = json::parse(read_file(in + "/request.json"));
        std::filesystem::create_directories(out);
        std::ofstream lines(out + "/results.jsonl");
        for (const auto& entry : request["cases"].items) {
            std::string stem = entry["id"].text, detail;
            while (stem.find('/') != std::string::npos) stem.replace(stem.find('/'), 1, "__");
            const std::string status = answer(entry, in, out + "/" + stem + ".safetensors", detail);
            lines << "{\"id\":" << json::quoted(entry["id"].text) << ",\"status\":\"" << status
                  << "\",\"detail\":" << json::quoted(detail) << "}" << std::endl;  // one by one: a crash blames its case
        }
        return 0;
    } catch (const std::exception& error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
}
