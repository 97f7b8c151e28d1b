// A JSON object whose values are all strings, no key twice: the metadata of a safetensors file, and the
// weight_map of an index of several. Two walks over the text: one counts, so that what is allocated is what
// is needed, one fills.
#pragma once

#include <cstddef>
#include <cstdlib>

#include "memory.h"
#include "models/json_reader.h"

namespace ropewalk {

struct TextPair {
  const char* key = nullptr;  // UTF-8, without a zero at the end
  size_t key_bytes = 0;
  const char* value = nullptr;
  size_t value_bytes = 0;
  size_t at = 0;  // of the key in the text
};

class TextMap {
 public:
  // What went wrong, or where: the text is no such object, or `duplicate` is the offset of a key's second
  // occurrence.
  struct Fault {
    size_t at = 0;
    bool duplicate = false;
  };

  // Reads the object that comes next. kInvalidArgument: see the fault, and what was held before is still
  // held.
  Status read(JsonReader& reader, Fault* fault);

  size_t size() const { return pairs_.size(); }
  // In the order of the text.
  const TextPair& operator[](size_t i) const { return pairs_[i]; }

 private:
  Buffer<TextPair> pairs_;
  Buffer<char> text_;
};

// Below, at or above 0 as a comes before b, is b, or comes after b in the order of bytes.
int compareText(const char* a, size_t a_bytes, const char* b, size_t b_bytes);

// By the C library: one sort for all types, where std::sort and the heap of <algorithm> are compiled for
// each. That counts where it is shipped.
template <auto before, class T>
void sortBy(T* begin, T* end) {
  std::qsort(begin, static_cast<size_t>(end - begin), sizeof(T), [](const void* a, const void* b) {
    const T& x = *static_cast<const T*>(a);
    const T& y = *static_cast<const T*>(b);
    return static_cast<int>(before(y, x)) - static_cast<int>(before(x, y));
  });
}

}  // namespace ropewalk
