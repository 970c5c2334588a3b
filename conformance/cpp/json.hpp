// JSON, as much as request.json and the header of a safetensors file need: a reader of RFC 8259, and quoting.
#pragma once

#include <cctype>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace json {

struct Value {
    enum Kind { null, boolean, number, string, array, object } kind = null;
    double real = 0;  // 0 or 1 of a boolean
    std::string text;
    std::vector<Value> items;
    std::map<std::string, Value> fields;

    const Value& operator[](const std::string& name) const {
        const auto found = fields.find(name);
        if (found == fields.end()) throw std::runtime_error("no field " + name);
        return found->second;
    }
};

class Reader {
  public:
    explicit Reader(const std::string& text) : text_(text) {}

    Value document() {
        Value found = value();
        if (peek() != '\0') fail();
        return found;
    }

  private:
    const std::string& text_;
    std::size_t at_ = 0;

    [[noreturn]] void fail() const { throw std::runtime_error("not JSON at byte " + std::to_string(at_)); }

    char peek() {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
        return at_ < text_.size() ? text_[at_] : '\0';
    }

    bool take(char wanted) {
        if (peek() != wanted) return false;
        ++at_;
        return true;
    }

    void expect(const char* word) {
        for (; *word; ++word, ++at_)
            if (at_ >= text_.size() || text_[at_] != *word) fail();
    }

    Value value() {
        Value found;
        switch (peek()) {
            case '{': return object();
            case '[': return array();
            case '"': found.kind = Value::string, found.text = string(); return found;
            case 't': expect("true"), found.kind = Value::boolean, found.real = 1; return found;
            case 'f': expect("false"), found.kind = Value::boolean; return found;
            case 'n': expect("null"); return found;
            default: return number();
        }
    }

    Value number() {
        Value found;
        const char* begin = text_.c_str() + at_;
        char* end = nullptr;
        found.kind = Value::number, found.real = std::strtod(begin, &end);
        if (end == begin) fail();
        at_ += static_cast<std::size_t>(end - begin);
        return found;
    }

    Value object() {
        Value found;
        found.kind = Value::object;
        take('{');
        if (take('}')) return found;
        do {
            if (peek() != '"') fail();
            const std::string name = string();
            if (!take(':')) fail();
            found.fields[name] = value();
        } while (take(','));
        if (!take('}')) fail();
        return found;
    }

    Value array() {
        Value found;
        found.kind = Value::array;
        take('[');
        if (take(']')) return found;
        do found.items.push_back(value());
        while (take(','));
        if (!take(']')) fail();
        return found;
    }

    std::string string() {
        std::string found;
        for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
            if (text_[at_] != '\\') found += text_[at_];
            else if (++at_ < text_.size()) escape(found);
        }
        if (at_++ >= text_.size()) fail();
        return found;
    }

    void escape(std::string& found) {
        static const std::string letters = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
        const std::size_t which = letters.find(text_[at_]);
        if (which != std::string::npos) {
            found += meant[which];
            return;
        }
        if (text_[at_] != 'u' || at_ + 4 >= text_.size()) fail();
        const unsigned long code = std::strtoul(text_.substr(at_ + 1, 4).c_str(), nullptr, 16);
        at_ += 4;
        if (code < 0x80) found += static_cast<char>(code);
        else found += '?';  // names of cases, ops, tensors and parameters are ASCII
    }
};

inline Value parse(const std::string& text) { return Reader(text).document(); }

inline std::string quoted(const std::string& text) {
    std::string found = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') found += '\\';
        found += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    return found + '"';
}

}  // namespace json
