// Pages: slots keep what they hold as more come, and are copied across the ends of pages.
#include "attention/pages.h"

#include <vector>

#include "attention/cache_data.h"
#include "attention/key_blocks.h"
#include "attention/key_panels.h"

namespace ropewalk::test {
namespace {

constexpr size_t kPagesHeads = 3;
constexpr size_t kBytes = 2;  // of a slot

static_assert(kPageSlots % kBlockKeys == 0);

// A number of a slot that differs from its neighbours' and from those a page away.
uint16_t markOf(size_t head, size_t slot) {
  return static_cast<uint16_t>(slot * 7 + head * 20011);
}

Pages pagesOf(size_t slots) {
  Pages pages;
  REQUIRE(pages.allocate(kPagesHeads, slots, kBytes) == Status::kOk);
  return pages;
}

uint16_t& slotOf(Pages& pages, size_t head, size_t slot) {
  return *reinterpret_cast<uint16_t*>(pages.at(head, slot));
}

void mark(Pages& pages, size_t first, size_t end) {
  for (size_t head = 0; head < kPagesHeads; ++head) {
    for (size_t slot = first; slot < end; ++slot) slotOf(pages, head, slot) = markOf(head, slot);
  }
}

// Slots from `at` on hold the marks of those from `first` on.
bool holds(Pages& pages, size_t at, size_t first, size_t count) {
  for (size_t head = 0; head < kPagesHeads; ++head) {
    for (size_t i = 0; i < count; ++i) {
      if (slotOf(pages, head, at + i) != markOf(head, first + i)) return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("Pages that grow keep their slots, and whole ones stay where they are", "[attention]") {
  Pages pages;
  REQUIRE(pages.allocate(kPagesHeads, 0, kBytes) == Status::kOk);
  CHECK(pages.empty());
  size_t before = 0;
  for (const size_t slots : {size_t{1}, size_t{16}, kPageSlots - 1, kPageSlots, kPageSlots + 8,
                             2 * kPageSlots + 3, 3 * kPageSlots, 5 * kPageSlots + 1}) {
    std::vector<unsigned char*> whole;
    for (size_t end = kPageSlots; end <= before; end += kPageSlots)
      whole.push_back(pages.at(0, end - kPageSlots));
    Pages grown;
    REQUIRE(pages.prepareGrowth(slots, &grown) == Status::kOk);
    CHECK(pages.slots() == before);
    CHECK(holds(pages, 0, 0, before));
    pages.moveTo(&grown);
    pages = std::move(grown);
    CHECK(pages.slots() == slots);
    CHECK(pages.bytes() == kPagesHeads * slots * kBytes);
    CHECK(holds(pages, 0, 0, before));
    for (size_t page = 0; page < whole.size(); ++page) CHECK(pages.at(0, page * kPageSlots) == whole[page]);
    mark(pages, before, slots);
    CHECK(holds(pages, 0, 0, slots));
    before = slots;
  }
}

TEST_CASE("Slots are copied within pages and between them, over each other too", "[attention]") {
  const size_t slots = 3 * kPageSlots;
  for (const size_t first : {size_t{0}, size_t{5}, kPageSlots - 1, kPageSlots + 9}) {
    for (const size_t to : {size_t{0}, size_t{6}, kPageSlots - 4, kPageSlots, kPageSlots + 700}) {
      for (const size_t count : {size_t{0}, size_t{1}, size_t{40}, kPageSlots, kPageSlots + 100}) {
        Pages pages = pagesOf(slots);
        mark(pages, 0, slots);
        pages.copy(to, pages, first, count);
        INFO(count << " from " << first << " to " << to);
        CHECK(holds(pages, to, first, count));
        CHECK(holds(pages, 0, 0, to));
        CHECK(holds(pages, to + count, to + count, slots - to - count));
      }
    }
  }
  Pages from = pagesOf(slots);
  mark(from, 0, slots);
  Pages pages = pagesOf(kPageSlots + 10);
  mark(pages, 0, kPageSlots + 10);
  pages.copy(3, from, 2 * kPageSlots - 7, kPageSlots + 7);
  CHECK(holds(pages, 3, 2 * kPageSlots - 7, kPageSlots + 7));
}

TEST_CASE("Attention reads keys and values across pages as it reads rows, bit for bit", "[attention]") {
  Random random(5);
  for (const size_t queries : {size_t{1}, size_t{9}}) {
    for (const size_t dim : {size_t{8}, size_t{6}}) {
      const AttentionShape shape = {2, 4, 2, queries, kPageSlots + 300, 7, dim};
      const AttentionData data(random, shape);
      const auto attend = [&](const StoredView& k, const StoredView& v) {
        std::vector<float> out(2 * 4 * queries * dim, kNaN);
        const HeadView<float> to = headsFirst(out.data(), 2, 4, queries, dim);
        REQUIRE(attention(to, data.queryView(), k, v, scaled(shape.dim)) == Status::kOk);
        return out;
      };
      const std::vector<float> expected = attend(data.keyView(), data.valueView());
      for (const size_t first :
           {size_t{0}, size_t{1}, kBlockKeys - 3, kBlockKeys, kPageSlots - 300, kPageSlots - 1}) {
        const size_t slots = first + shape.keys + 9;
        KeyPanels keys;
        Pages values;
        REQUIRE(keys.allocate(2, 2, slots, shape.dim) == Status::kOk);
        REQUIRE(values.allocate(4, slots, dim * sizeof(float)) == Status::kOk);
        keys.put(first, data.keyView());
        for (size_t head = 0; head < 4; ++head) {
          for (size_t t = 0; t < shape.keys; ++t)
            std::copy_n(data.valueView().row(head / 2, head % 2, t), dim,
                        reinterpret_cast<float*>(values.at(head, first + t)));
        }
        const StoredView v = {{nullptr, 2, 2, shape.keys, dim}, WeightType::kFloat32, &values, first};
        INFO(queries << " queries, values of " << dim << ", from slot " << first);
        CHECK(sameBits(attend(keys.view(first, shape.keys), v), expected));
        CHECK(sameBits(attend(keys.view(first, shape.keys), data.valueView()), expected));
      }
    }
  }
}

TEST_CASE("A cache that grows over pages reads as one that had room, whatever left it before",
          "[attention]") {
  Random random(6);
  const size_t pieces = 13;
  const size_t piece = 719;
  const Tokens tokens(random, pieces * piece);
  for (const WeightType storage : {WeightType::kFloat32, WeightType::kFloat16}) {
    for (const size_t dropped : {size_t{0}, size_t{1}, size_t{100}}) {
      KvCacheOptions options = cacheOptions();
      options.storage = storage;
      KvCache grown = cacheOf(options);
      options.capacity = tokens.count;
      options.growing = false;
      KvCache fixed = cacheOf(options);
      for (size_t i = 0; i < pieces; ++i) {
        for (KvCache* cache : {&grown, &fixed}) {
          REQUIRE(tokens.appendTo(*cache, i * piece, piece) == Status::kOk);
          if (i % 3 == 1) REQUIRE(cache->drop(0, dropped) == Status::kOk);
        }
      }
      INFO(dropped << " dropped at a time");
      CHECK(grown.capacity() < fixed.capacity() + kPageSlots);
      CHECK(sameBits(keysOf(grown), keysOf(fixed)));
      CHECK(sameBits(valuesOf(grown), valuesOf(fixed)));
      CHECK(positionsOf(grown) == positionsOf(fixed));
      CHECK(sameBits(attended(grown, tokens.queries(0, 1)), attended(fixed, tokens.queries(0, 1))));
    }
  }
}

TEST_CASE("A window slides through a cache that grows over pages", "[attention]") {
  Random random(7);
  const Tokens tokens(random, 20000);
  // At the end of the room the rows of the first move to the front; those of the second are too many, and it
  // grows.
  for (const size_t window : {size_t{5000}, size_t{7000}}) {
    KvCacheOptions options = cacheOptions();
    options.window = {window, 3, false};
    KvCache cache = cacheOf(options);
    for (size_t first = 0; first < tokens.count; first += 50)
      REQUIRE(tokens.appendTo(cache, first, 50) == Status::kOk);
    REQUIRE(cache.length() == window + 49 + 3);
    CHECK(cache.capacity() == (window == 5000 ? 2 : 3) * kPageSlots);
    std::vector<size_t> chosen = {0, 1, 2};
    for (size_t t = tokens.count - window - 49; t < tokens.count; ++t) chosen.push_back(t);
    const std::vector<float> keys = keysOf(cache);
    for (size_t row = 0; row < chosen.size(); ++row) {
      const float* const expected = tokens.keys(chosen[row], 1).row(1, 1, 0);
      const float* const got = keys.data() + (3 * cache.length() + row) * kDim;
      if (!std::equal(got, got + kDim, expected)) FAIL("row " << row);
    }
  }
}

}  // namespace ropewalk::test
