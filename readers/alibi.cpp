// Holds alibi(), put yours there, against a pack: g++ -std=c++17 alibi.cpp -o alibi && ./alibi ../fixtures
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

// The text of a member of a JSON object, not of what is nested in it; "" where there is none.
std::string member(const std::string &json, const std::string &key) {
  int depth = 0;
  size_t value = 0;  // where the member's value begins, once its key is behind us
  std::string word;  // the string read last
  for (size_t i = 0, from = 0; i < json.size(); from = ++i) {
    if (json[i] == '"') while (json.at(++i) != '"') i += json[i] == '\\';
    if (json[from] == '"') word = json.substr(from + 1, i - from - 1);
    depth += (json[from] == '{' || json[from] == '[') - (json[from] == '}' || json[from] == ']');
    const bool ends = value && (depth == 0 || (depth == 1 && json[from] == ','));
    if (ends) return json.substr(value, json.find_last_not_of(" \n\r\t", i - 1) + 1 - value);
    if (depth == 1 && json[from] == ':' && word == key) value = json.find_first_not_of(" \n\r\t", i + 1);
  }
  return "";
}
std::string read(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
std::vector<double> tensor(const std::string &file, const std::string &name) {  // of a safetensors file
  unsigned long long length = 0, start = 0, end = 0;
  file.copy(reinterpret_cast<char *>(&length), 8);
  const std::string entry = member(file.substr(8, length), name);
  std::sscanf(member(entry, "data_offsets").c_str(), "[%llu ,%llu", &start, &end);
  const auto numbers = [&](auto zero) {
    std::vector<decltype(zero)> values((end - start) / sizeof zero, zero);
    file.copy(reinterpret_cast<char *>(values.data()), values.size() * sizeof zero, 8 + length + start);
    return std::vector<double>(values.begin(), values.end());
  };
  return member(entry, "dtype") == "\"F64\"" ? numbers(0.0) : numbers(0.0f);
}

template <class Real> std::vector<Real> alibi(const std::vector<double> &slopes, const std::string &params) {
  const auto integer = [&](const char *name) { return std::atol(member(params, name).c_str()); };  // or 0
  const long T = integer("T"), S = integer("S"), q_offset = integer("q_offset");
  const bool key_only = member(params, "key_only") == "true";
  std::vector<Real> y;
  for (const Real slope : slopes)
    for (long t = q_offset; t < q_offset + T; ++t)
      for (long s = 0; s < S; ++s) y.push_back(slope * Real(key_only ? s : -std::abs(t - s)));
  return y;
}
template <class Real> bool fails(const std::string &path, const std::string &profile) {
  const std::string about = read(path + ".json"), out = read(path + ".out.safetensors");
  if (member(about, "profiles").find('"' + profile + '"') == std::string::npos) return false;
  const auto got = alibi<Real>(tensor(read(path + ".in.safetensors"), "in.slopes"), member(about, "params"));
  const auto want = tensor(out, "out.y"), tol = tensor(out, "tol." + profile + ".out.y");
  double worst = want.empty() || got.size() != want.size() ? INFINITY : 0;
  for (size_t i = 0; i < want.size(); ++i) {
    const double budget = got.at(i) == want[i] ? 0 : std::abs(got[i] - want[i]) / tol.at(i);
    if (!(budget <= worst)) worst = budget >= 0 ? budget : INFINITY;  // NaN fails
  }
  std::printf("%s  %s  %s  y  %.4f\n", worst <= 1 ? "PASS" : "FAIL", path.c_str(), profile.c_str(), worst);
  return worst > 1;
}
int main(int argc, char **argv) try {
  int cases = 0, failed = 0;
  for (const auto &file : std::filesystem::directory_iterator(std::string(argv[argc - 1]) + "/cases/alibi")) {
    if (file.path().extension() != ".json") continue;
    const std::string path = (file.path().parent_path() / file.path().stem()).string();
    failed += fails<double>(path, "f64") + fails<float>(path, "f32");
    ++cases;
  }
  std::printf("%d cases, %d results failed\n", cases, failed);
  return cases == 0 ? 2 : failed > 0;
} catch (const std::exception &error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
