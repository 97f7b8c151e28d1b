// Caches saved and restored, and bytes that are not a saved cache.
#include <cstring>
#include <vector>

#include "attention/cache_data.h"
#include "checksum.h"

namespace ropewalk::test {
namespace {

std::vector<uint8_t> saved(const KvCache& cache) {
  std::vector<uint8_t> bytes(cache.savedSize());
  cache.save(bytes.data());
  return bytes;
}

Status restored(KvCache& cache, const std::vector<uint8_t>& bytes, const std::vector<RopePlan*>& plans) {
  return cache.restore(bytes.data(), bytes.size(), plans.data(), plans.size());
}

// A cache of two plans, with a gap, moved tokens and a window that some have left.
KvCache usedCache(Random& random, RopePlan* first, RopePlan* second, CachedKeys kept) {
  const Tokens tokens(random, 12);
  KvCacheOptions options = cacheOptions(first, kept);
  options.window = {6, 1, false};
  KvCache cache = cacheOf(options);
  REQUIRE(tokens.appendTo(cache, 0, 8) == Status::kOk);
  REQUIRE(cache.switchTo(second) == Status::kOk);
  REQUIRE(tokens.appendTo(cache, 8, 3) == Status::kOk);
  REQUIRE(cache.shift(2, cache.length() - 2, 4) == Status::kOk);
  REQUIRE(cache.drop(3, 1) == Status::kOk);
  return cache;
}

constexpr size_t kChecksumAt = 20 * 8;

// Gives bytes the checksum that belongs to them.
void sign(std::vector<uint8_t>& bytes) {
  Checksum sum;
  sum.add(bytes.data(), kChecksumAt);
  sum.add(bytes.data() + kChecksumAt + 8, bytes.size() - kChecksumAt - 8);
  const uint64_t value = sum.value();
  std::memcpy(&bytes[kChecksumAt], &value, 8);
}

RopePlan otherPlan() {
  RopeOptions options = ropeOptions(kDim, kDim);
  options.frequencies.base = 500;
  return planOf(options);
}

}  // namespace

TEST_CASE("A restored cache gives the same bits, and goes on alike", "[attention]") {
  for (const CachedKeys kept : {CachedKeys::kRotated, CachedKeys::kUnrotated}) {
    Random random(1);
    RopePlan first = planOf(ropeOptions(kDim, kDim));
    RopePlan second = otherPlan();
    KvCache cache = usedCache(random, &first, &second, kept);
    const std::vector<uint8_t> bytes = saved(cache);
    // Equal plans will do, in any order.
    RopePlan second_again = otherPlan();
    RopePlan first_again = planOf(ropeOptions(kDim, kDim));
    KvCache copy;
    REQUIRE(restored(copy, bytes, {&second_again, &first_again}) == Status::kOk);
    CHECK(copy.plan() == &second_again);
    CHECK(sameBits(keysOf(copy), keysOf(cache)));
    CHECK(sameBits(valuesOf(copy), valuesOf(cache)));
    CHECK(positionsOf(copy) == positionsOf(cache));
    CHECK(saved(copy) == bytes);
    const Tokens tokens(random, 5);
    for (KvCache* each : {&cache, &copy}) REQUIRE(tokens.appendTo(*each, 0, 5) == Status::kOk);
    CHECK(sameBits(attended(copy, tokens.queries(0, 5)), attended(cache, tokens.queries(0, 5))));
    CHECK(copy.truncate(3) == cache.truncate(3));
  }
}

TEST_CASE("A plain cache and one of several axes are saved as well", "[attention]") {
  Random random(2);
  const Tokens tokens(random, 5);
  RopeOptions options = ropeOptions(kDim, kDim);
  options.axes = {AxisLayout::kSections, 2, {3, 1}};
  RopePlan plan = planOf(options);
  for (RopePlan* each : {static_cast<RopePlan*>(nullptr), &plan}) {
    KvCache cache = cacheOf(cacheOptions(each));
    const std::vector<int64_t> places = {4, 4, 4, 0, 1, 2};
    REQUIRE(tokens.appendTo(cache, 0, 3, {nullptr, each == nullptr ? nullptr : places.data()}) ==
            Status::kOk);
    KvCache copy;
    REQUIRE(restored(copy, saved(cache), {&plan}) == Status::kOk);
    for (KvCache* of : {&cache, &copy}) {
      REQUIRE(of->shift(0, 3, 9) == Status::kOk);
      REQUIRE(tokens.appendTo(*of, 3, 2) == Status::kOk);
    }
    CHECK(snapshotOf(copy) == snapshotOf(cache));
    KvCache empty = cacheOf(cacheOptions(each));
    REQUIRE(restored(copy, saved(empty), {&plan}) == Status::kOk);
    CHECK(copy.length() == 0);
  }
}

TEST_CASE("Bytes that were cut, lengthened or altered are refused, and nothing changes", "[attention]") {
  Random random(3);
  RopePlan first = planOf(ropeOptions(kDim, kDim));
  RopePlan second = otherPlan();
  const std::vector<RopePlan*> plans = {&first, &second};
  KvCache cache = usedCache(random, &first, &second, CachedKeys::kRotated);
  const Snapshot before = snapshotOf(cache);
  const std::vector<uint8_t> bytes = saved(cache);
  REQUIRE(KvCache::checkSaved(bytes.data(), bytes.size(), plans.data(), 2) == SavedProblem::kNone);
  size_t accepted = 0;
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<uint8_t> cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
    accepted += KvCache::checkSaved(cut.data(), size, plans.data(), 2) == SavedProblem::kNone;
    accepted += restored(cache, cut, plans) == Status::kOk;
  }
  std::vector<uint8_t> longer = bytes;
  longer.resize(bytes.size() + 8);
  accepted += restored(cache, longer, plans) == Status::kOk;
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::vector<uint8_t> altered = bytes;
    altered[i] = static_cast<uint8_t>(altered[i] ^ (1 + random.bits() % 255));
    accepted += restored(cache, altered, plans) == Status::kOk;
  }
  CHECK(accepted == 0);
  CHECK(snapshotOf(cache) == before);
  for (const std::vector<RopePlan*>& some : {std::vector<RopePlan*>{}, {&first}, {&second}}) {
    CHECK(KvCache::checkSaved(bytes.data(), bytes.size(), some.data(), some.size()) == SavedProblem::kPlans);
    CHECK(restored(cache, bytes, some) == Status::kInvalidArgument);
  }
  CHECK(snapshotOf(cache) == before);
}

TEST_CASE("Forged words with a right checksum are refused or restored, and do no harm", "[attention]") {
  Random random(4);
  RopePlan first = planOf(ropeOptions(kDim, kDim));
  RopePlan second = otherPlan();
  const std::vector<RopePlan*> plans = {&first, &second};
  KvCache cache = usedCache(random, &first, &second, CachedKeys::kRotated);
  const std::vector<uint8_t> bytes = saved(cache);
  const uint64_t forgeries[] = {
      0, 1, 2, 3, 5, 1000, uint64_t{1} << 31, uint64_t{1} << 53, uint64_t{1} << 62, UINT64_MAX};
  size_t refused = 0;
  for (size_t at = 16; at + 8 <= 21 * 8 + 2 * 8 + 8 * 8 * 3; at += 8) {
    if (at == kChecksumAt) continue;
    for (const uint64_t word : forgeries) {
      std::vector<uint8_t> forged = bytes;
      std::memcpy(&forged[at], &word, 8);
      sign(forged);
      KvCache victim;
      if (restored(victim, forged, plans) != Status::kOk) {
        ++refused;
        CHECK(victim.length() == 0);
        continue;
      }
      CHECK(keysOf(victim).size() == kBatch * kKvHeads * victim.length() * kDim);
      CHECK(victim.drop(0, victim.length()) == Status::kOk);
    }
  }
  CHECK(refused > 100);
}

TEST_CASE("Sizes that no 64 bits hold are refused", "[attention]") {
  KvCache cache = cacheOf(cacheOptions());
  Random random(6);
  REQUIRE(Tokens(random, 1).appendTo(cache, 0, 1) == Status::kOk);
  const std::vector<uint8_t> bytes = saved(cache);
  const uint64_t words = (bytes.size() - 21 * 8) / 8;
  // Plans are one word each: the sum of words overflows, then their bytes, then these with the header.
  for (const uint64_t plans :
       {UINT64_MAX - 3, UINT64_MAX - words, (UINT64_MAX >> 3) + 1 - words, (UINT64_MAX >> 3) - words}) {
    std::vector<uint8_t> forged = bytes;
    std::memcpy(&forged[size_t{15} * 8], &plans, 8);
    sign(forged);
    CHECK(KvCache::checkSaved(forged.data(), forged.size(), nullptr, 0) == SavedProblem::kDamaged);
  }
  const uint64_t current = 1;  // of a plain cache, which has no plan
  std::vector<uint8_t> forged = bytes;
  std::memcpy(&forged[size_t{16} * 8], &current, 8);
  sign(forged);
  CHECK(KvCache::checkSaved(forged.data(), forged.size(), nullptr, 0) == SavedProblem::kDamaged);
}

TEST_CASE("A plan that has turned none of the keys is not asked for", "[attention]") {
  Random random(7);
  const Tokens tokens(random, 4);
  RopePlan first = planOf(ropeOptions(kDim, kDim));
  RopePlan second = otherPlan();
  KvCache cache = cacheOf(cacheOptions(&first));
  REQUIRE(tokens.appendTo(cache, 0, 2) == Status::kOk);
  REQUIRE(cache.switchTo(&second) == Status::kOk);
  REQUIRE(tokens.appendTo(cache, 2, 2) == Status::kOk);
  CHECK(KvCache::checkSaved(saved(cache).data(), cache.savedSize(), nullptr, 0) == SavedProblem::kPlans);
  REQUIRE(cache.drop(0, 2) == Status::kOk);
  const std::vector<uint8_t> bytes = saved(cache);
  KvCache copy;
  CHECK(restored(copy, bytes, {&first}) == Status::kInvalidArgument);
  REQUIRE(restored(copy, bytes, {&second}) == Status::kOk);
  CHECK(snapshotOf(copy) == snapshotOf(cache));

  // Its slot has no plan: what says that a key was turned by it is damaged.
  const size_t origins = 21 * 8 + size_t{2} * 8 + size_t{2} * 8;
  std::vector<uint8_t> forged = bytes;
  const uint64_t slot = 0;
  std::memcpy(&forged[origins + 8], &slot, 8);
  sign(forged);
  CHECK(restored(copy, forged, {&second}) == Status::kInvalidArgument);
  CHECK(snapshotOf(copy) == snapshotOf(cache));
}

TEST_CASE("Positions that no plan reaches, and plans of other axes, are refused", "[attention]") {
  Random random(8);
  const Tokens tokens(random, 3);
  RopeOptions options = ropeOptions(kDim, kDim);
  options.axes = {AxisLayout::kSections, 2, {3, 1}};
  RopePlan plan = planOf(options);
  RopePlan flat = planOf(ropeOptions(kDim, kDim));
  KvCache cache = cacheOf(cacheOptions(&plan));
  const std::vector<int64_t> places = {4, 5, 6, 0, 1, 2};
  REQUIRE(tokens.appendTo(cache, 0, 3, {nullptr, places.data()}) == Status::kOk);
  const std::vector<uint8_t> bytes = saved(cache);
  const size_t positions = size_t{22} * 8;
  const size_t axis_positions = positions + size_t{3} * 3 * 8;
  const auto refuses = [&](size_t at, int64_t word) {
    std::vector<uint8_t> forged = bytes;
    std::memcpy(&forged[at], &word, 8);
    sign(forged);
    KvCache victim;
    CHECK(restored(victim, forged, {&plan}) == Status::kInvalidArgument);
    CHECK(victim.length() == 0);
  };
  for (const int64_t far : {kMaxPosition + 1, -kMaxPosition - 1}) refuses(axis_positions + 8, far);
  refuses(positions + size_t{2} * 8, kMaxPosition);  // the last key's places would be moved beyond
  KvCache one = cacheOf(cacheOptions(&flat));
  REQUIRE(tokens.appendTo(one, 0, 1) == Status::kOk);
  REQUIRE(restored(one, saved(one), {&plan, &flat}) == Status::kOk);
  CHECK(restored(one, bytes, {&flat}) == Status::kInvalidArgument);
  CHECK(one.length() == 1);
}

TEST_CASE("Keys that were turned by a plan of another kind are refused", "[attention]") {
  Random random(9);
  const Tokens tokens(random, 2);
  RopePlan first = planOf(ropeOptions(kDim, kDim));
  RopePlan second = otherPlan();
  KvCache cache = cacheOf(cacheOptions(&first));
  REQUIRE(tokens.appendTo(cache, 0, 1) == Status::kOk);
  REQUIRE(cache.switchTo(&second) == Status::kOk);
  REQUIRE(tokens.appendTo(cache, 1, 1) == Status::kOk);
  RopePlan part = planOf(ropeOptions(kDim, kDim / 2));
  RopeOptions two_axes = ropeOptions(kDim, kDim);
  two_axes.axes = {AxisLayout::kSections, 2, {2, 2}};
  RopePlan many = planOf(two_axes);
  for (RopePlan* other : {&part, &many}) {
    std::vector<uint8_t> forged = saved(cache);
    const uint64_t fingerprint = other->fingerprint();
    std::memcpy(&forged[size_t{21} * 8], &fingerprint, 8);  // of the plan of the first key
    sign(forged);
    KvCache victim;
    CHECK(restored(victim, forged, {&first, &second, other}) == Status::kInvalidArgument);
    CHECK(victim.length() == 0);
  }

  // A position from which xPos would have no number for what it shrinks by.
  RopeOptions shrinking = ropeOptions(kDim, 6);
  shrinking.xpos.scale_base = 64;
  RopePlan xpos = planOf(shrinking);
  KvCache shrunk = cacheOf(cacheOptions(&xpos));
  REQUIRE(tokens.appendTo(shrunk, 0, 1) == Status::kOk);
  std::vector<uint8_t> forged = saved(shrunk);
  const int64_t far = kMaxPosition;
  std::memcpy(&forged[size_t{23} * 8], &far, 8);  // where it was turned, not where it is now
  sign(forged);
  KvCache victim;
  CHECK(restored(victim, forged, {&xpos}) == Status::kInvalidArgument);
}

TEST_CASE("Places of axes that a cache does not have are refused", "[attention]") {
  Random random(5);
  RopePlan plan = planOf(ropeOptions(kDim, kDim));
  const Tokens tokens(random, 5);
  for (RopePlan* each : {static_cast<RopePlan*>(nullptr), &plan}) {
    KvCache cache = cacheOf(cacheOptions(each));
    REQUIRE(tokens.appendTo(cache, 0, 5) == Status::kOk);
    const Snapshot before = snapshotOf(cache);
    for (uint64_t axes = 0; axes <= kMaxAxes + 1; ++axes) {
      if (axes == 1) continue;
      // Places lie behind the fingerprints, positions and origins.
      std::vector<uint8_t> forged = saved(cache);
      const size_t behind = 21 * 8 + (each == nullptr ? 0 : 8) + size_t{5} * 3 * 8;
      if (axes > 1)
        forged.insert(forged.begin() + static_cast<ptrdiff_t>(behind), static_cast<size_t>(axes) * 5 * 8, 0);
      const uint64_t size = forged.size();
      std::memcpy(&forged[2 * 8], &size, 8);
      std::memcpy(&forged[7 * 8], &axes, 8);
      sign(forged);
      CHECK(restored(cache, forged, {&plan}) == Status::kInvalidArgument);
    }
    CHECK(snapshotOf(cache) == before);
  }
}

TEST_CASE("Plans that turn alike have one fingerprint, others have another", "[encodings]") {
  std::vector<RopeOptions> all(9, ropeOptions(kDim, kDim));
  all[1].pairing = Pairing::kInterleaved;
  all[2].frequencies.base = 10001;
  all[3].angles = Angles::kFloat32;
  all[4] = ropeOptions(kDim, 6);
  all[5].xpos.scale_base = 512;
  all[6].axes = {AxisLayout::kSections, 2, {2, 2}};
  all[7].frequencies.scaling = Scaling::kYarn;
  all[7].frequencies.factor = 4;
  all[7].frequencies.original_length = 64;
  all[8] = all[7];
  all[8].frequencies.attention_factor = 1;
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = 0; j < all.size(); ++j) {
      CHECK((planOf(all[i]).fingerprint() == planOf(all[j]).fingerprint()) == (i == j));
    }
  }
}

}  // namespace ropewalk::test
