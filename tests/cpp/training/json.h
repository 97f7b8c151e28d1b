// JSON text as a tree of values, for files of test vectors. Not for files of others: it trusts the text.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace ropewalk::test {

struct Json {
  enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject };
  Kind kind = Kind::kNull;
  double number = 0;  // 0 or 1 of a bool
  std::string text;
  std::vector<std::string> keys;  // of an object, in the order of its items
  std::vector<Json> items;

  bool isNull() const { return kind == Kind::kNull; }
  // The value of a key; null where there is none.
  const Json& operator[](const std::string& key) const {
    static const Json none;
    for (size_t i = 0; i < keys.size(); ++i) {
      if (keys[i] == key) return items[i];
    }
    return none;
  }
  double numberOr(double other) const { return isNull() ? other : number; }
  size_t size() const { return static_cast<size_t>(number); }
};

class JsonParser {
 public:
  static Json ofFile(const char* path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error(std::string("cannot read ") + path);
    JsonParser parser;
    parser.text_.assign(std::istreambuf_iterator<char>(file), {});
    return parser.value();
  }

 private:
  char next() {
    while (at_ < text_.size() && std::string(" \t\r\n").find(text_[at_]) != std::string::npos) ++at_;
    if (at_ == text_.size()) throw std::runtime_error("JSON ends too early");
    return text_[at_];
  }

  void expect(char c) {
    if (next() != c) throw std::runtime_error(std::string("JSON: expected ") + c);
    ++at_;
  }

  bool accept(const char* word) {
    const std::string w(word);
    if (text_.compare(at_, w.size(), w) != 0) return false;
    at_ += w.size();
    return true;
  }

  // Escapes other than of one character stay as they are: names have none.
  std::string string() {
    std::string out;
    expect('"');
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\') ++at_;
      out += text_[at_++];
    }
    expect('"');
    return out;
  }

  Json list(char end) {
    Json out;
    out.kind = end == '}' ? Json::Kind::kObject : Json::Kind::kArray;
    ++at_;
    while (next() != end) {
      if (!out.items.empty()) expect(',');
      if (end == '}') {
        next();
        out.keys.push_back(string());
        expect(':');
      }
      out.items.push_back(value());
    }
    ++at_;
    return out;
  }

  Json value() {
    Json out;
    switch (next()) {
      case '{':
        return list('}');
      case '[':
        return list(']');
      case '"':
        out.kind = Json::Kind::kString;
        out.text = string();
        return out;
      default:
        break;
    }
    if (accept("null")) return out;
    const bool yes = accept("true");
    if (yes || accept("false")) {
      out.kind = Json::Kind::kBool;
      out.number = yes ? 1 : 0;
      return out;
    }
    out.kind = Json::Kind::kNumber;
    char* end = nullptr;
    out.number = std::strtod(text_.c_str() + at_, &end);
    const auto after = static_cast<size_t>(end - text_.c_str());
    if (after == at_) throw std::runtime_error("JSON: not a value");
    at_ = after;
    return out;
  }

  std::string text_;
  size_t at_ = 0;
};

}  // namespace ropewalk::test
