// Reads JSON text (RFC 8259) from front to back, as headers of model files need it: strict, without recursion
// and without memory of its own. No tree of values, no numbers but whole ones: the caller, who knows the
// layout, asks for what has to come next. Every call skips white space first and answers false where the text
// has something else; at() is then its offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ropewalk {

// A string as it is in the text, quotes and escapes included.
struct JsonString {
  size_t begin = 0;
  size_t bytes = 0;
  size_t decoded_bytes = 0;  // of UTF-8, without escapes; never more than bytes
};

// Where text stops to be UTF-8 (no overlong forms, no surrogates, at most U+10FFFF), or its size.
size_t utf8End(const char* text, size_t bytes);

class JsonReader {
 public:
  static constexpr size_t kMaxDepth = 128;  // of values within a value that is skipped

  // The text has to be UTF-8.
  JsonReader(const char* text, size_t bytes) : text_(text), size_(bytes) {}

  size_t at() const { return at_; }
  // The next byte that is not white space, or 0 at the end.
  char peek();
  // Skips this byte if it is the next one.
  bool accept(char c);
  bool string(JsonString* out);
  // Digits only: a sign, a fraction or an exponent make another kind of number, also where its value is
  // whole.
  bool wholeNumber(uint64_t* out);
  // Any value, checked and thrown away. Keys within it may repeat.
  bool skipValue();

  // Writes decoded_bytes bytes.
  void decode(const JsonString& s, char* out) const;
  bool equals(const JsonString& s, std::string_view word) const;

 private:
  char current() const { return at_ < size_ ? text_[at_] : '\0'; }
  bool escape(size_t* decoded_bytes);
  bool hexDigits(uint32_t* out);
  bool digits();
  bool number();
  bool scalar();

  const char* text_;
  size_t size_;
  size_t at_ = 0;
};

}  // namespace ropewalk
