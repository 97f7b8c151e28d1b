#include "models/json_reader.h"

#include <string>
#include <utility>
#include <vector>

#include "catch.h"
#include "models/safetensors_file.h"

namespace ropewalk::test {
namespace {

// The decoded string, or "refused".
std::string stringOf(const std::string& text) {
  const std::vector<char> exact = exactly(text);
  JsonReader reader(exact.data(), exact.size());
  JsonString s;
  if (!reader.string(&s) || reader.at() != exact.size()) return "refused";
  std::string out(s.decoded_bytes, '?');
  reader.decode(s, out.data());
  CHECK(reader.equals(s, out) == (out.size() <= 16));
  CHECK_FALSE(reader.equals(s, out + "x"));
  return out;
}

bool skips(const std::string& text) {
  const std::vector<char> exact = exactly(text);
  JsonReader reader(exact.data(), exact.size());
  if (!reader.skipValue()) return false;
  reader.peek();
  return reader.at() == exact.size();
}

std::string utf8(uint32_t code) {
  const auto byte = [](uint32_t b) { return static_cast<char>(b); };
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xC0 + (code >> 6)), byte(0x80 + code % 64)};
  if (code < 0x10000) {
    return {byte(0xE0 + (code >> 12)), byte(0x80 + (code >> 6) % 64), byte(0x80 + code % 64)};
  }
  return {byte(0xF0 + (code >> 18)), byte(0x80 + (code >> 12) % 64), byte(0x80 + (code >> 6) % 64),
          byte(0x80 + code % 64)};
}

std::string escaped(uint32_t unit) {
  constexpr char kDigits[] = "0123456789abcDEF";
  std::string text = "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) text += kDigits[unit >> shift & 15];
  return text;
}

}  // namespace

TEST_CASE("Every code point is read as itself and as its escape", "[models]") {
  size_t wrong = 0;
  for (uint32_t code = 0; code <= 0x10FFFF; code += code < 0x3000 || code > 0x10F000 ? 1 : 37) {
    if (code >= 0xD800 && code < 0xE000) continue;
    const std::string bytes = utf8(code);
    wrong += utf8End(bytes.data(), bytes.size()) != bytes.size();
    const std::string as_escape = code < 0x10000 ? escaped(code)
                                                 : escaped(0xD800 + ((code - 0x10000) >> 10)) +
                                                       escaped(0xDC00 + (code - 0x10000) % 1024);
    wrong += stringOf("\"" + as_escape + "\"") != bytes;
    const bool literal = code >= 0x20 && code != '"' && code != '\\';
    if (literal) wrong += stringOf("\"" + bytes + "\"") != bytes;
    if (code < 0x20) wrong += stringOf("\"" + bytes + "\"") != "refused";
  }
  CHECK(wrong == 0);
}

TEST_CASE("Two bytes are UTF-8 exactly where the standard says so, and so are three and four", "[models]") {
  // An independent decoder: value, and the shortest form of it.
  const auto valid = [](const std::string& s) {
    size_t i = 0;
    while (i < s.size()) {
      const auto lead = static_cast<unsigned char>(s[i]);
      const size_t n = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
      if (n == 0 || i + n > s.size()) return false;
      uint32_t code = n == 1 ? lead : lead & (0x7F >> n);
      for (size_t k = 1; k < n; ++k) {
        const auto c = static_cast<unsigned char>(s[i + k]);
        if (c >> 6 != 2) return false;
        code = code << 6 | (c & 63);
      }
      if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000) || utf8(code).size() != n) return false;
      i += n;
    }
    return true;
  };
  size_t wrong = 0;
  const auto check = [&](const std::string& s) {
    const std::vector<char> exact = exactly(s);
    wrong += (utf8End(exact.data(), exact.size()) == exact.size()) != valid(s);
  };
  for (int a = 0; a < 256; ++a) {
    check({static_cast<char>(a)});
    for (int b = 0; b < 256; ++b) {
      check({static_cast<char>(a), static_cast<char>(b)});
      for (const int c : {0x00, 0x41, 0x7F, 0x80, 0xBF, 0xC0}) {
        check({static_cast<char>(a), static_cast<char>(b), static_cast<char>(c)});
        check({static_cast<char>(a), static_cast<char>(b), static_cast<char>(c), static_cast<char>(0x80)});
      }
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("A string that is not closed, or has an escape that there is not, is refused", "[models]") {
  CHECK(stringOf(R"("\"\\\/\b\f\n\r\t")") == "\"\\/\b\f\n\r\t");
  for (const char* text : {"",
                           "\"",
                           "\"a",
                           "\"\\",
                           "\"\\\"",
                           "\"\\x41\"",
                           "\"\\u\"",
                           "\"\\u12\"",
                           "\"\\u123g\"",
                           "\"\\u123\"",
                           "\"\\U0041\"",
                           "\"\\ud800\"",
                           "\"\\ud800x\"",
                           "\"\\ud800\\n\"",
                           "\"\\ud800\\u0041\"",
                           "\"\\ud800\\ud800\"",
                           "\"\\udc00\"",
                           "\"\\ud800\\u",
                           "\"\\ud800\\",
                           "\"\\u004",
                           "'a'",
                           "a"}) {
    INFO(text);
    CHECK(stringOf(text) == "refused");
  }
}

TEST_CASE("A whole number has digits only, no leading zero, and fits 64 bits", "[models]") {
  const auto read = [](const std::string& text) {
    const std::vector<char> exact = exactly(text);
    JsonReader reader(exact.data(), exact.size());
    uint64_t value = 0;
    return reader.wholeNumber(&value) ? std::to_string(value) : "refused";
  };
  for (const char* text : {"0", "7", "10", "4294967296", "9007199254740993", "18446744073709551615"}) {
    CHECK(read(text) == text);
    CHECK(read(" \t\r\n" + std::string(text)) == text);
  }
  for (const char* text :
       {"", "-", "-1", "-0", "+1", "00", "01", "1.0", "1.", "1e0", "1E2", "18446744073709551616",
        "36893488147419103236", "99999999999999999999999999", "x", "\"1\"", "\xEF\xBC\x91"}) {
    INFO(text);
    CHECK(read(text) == "refused");
  }
}

TEST_CASE("Any JSON value is skipped, and nothing else", "[models]") {
  for (const char* text : {"0", "-0", "-0.0", "1.5e+10", "1E-2", "12", "true", "false", "null", "\"\"", "[]",
                           "{}", "[[]]", "[{}]", "{\"a\":[]}", "[1,2]", "{\"a\":1,\"b\":{\"c\":[null,true]}}",
                           " [ 1 , { \"a\" : \"]\" } ] ", "{\"a\":1,\"a\":2}"}) {
    INFO(text);
    CHECK(skips(text));
  }
  for (const char* text :
       {"",         " ",          "-",        "01",          "1.",       ".5",    "1e",      "1e+",
        "+1",       "tru",        "True",     "nan",         "Infinity", "[",     "]",       "{",
        "}",        "[1",         "[1,",      "[1,]",        "[,1]",     "[1 2]", "{1:2}",   "{\"a\"}",
        "{\"a\":}", "{\"a\":1,}", "{\"a\":1", "{,}",         "[}",       "{]",    "[1}",     "{\"a\":1]",
        "[1],",     "1 2",        "[1]]",     "{\"a\":[1}]", "/**/1",    "'a'",   "\"\x01\""}) {
    INFO(text);
    CHECK_FALSE(skips(text));
  }
}

TEST_CASE("Values may be nested 128 deep and no deeper", "[models]") {
  const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  const auto objects = [](size_t depth) {
    std::string text = "0";
    for (size_t i = 0; i < depth; ++i) text = "{\"a\":" + text + "}";
    return text;
  };
  for (const size_t depth : {size_t{1}, size_t{127}, JsonReader::kMaxDepth}) {
    CHECK(skips(nested(depth)));
    CHECK(skips(objects(depth)));
  }
  for (const size_t depth : {size_t{129}, size_t{20'000}, size_t{1'000'000}})
    CHECK_FALSE(skips(nested(depth)));
  CHECK_FALSE(skips(objects(129)));
  CHECK_FALSE(skips(std::string(1'000'000, '[')));
}

}  // namespace ropewalk::test
