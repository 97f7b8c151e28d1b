// libFuzzer: bytes that are restored as a saved cache: any, or those of a saved one with some changed, mostly
// with the checksum of what they are now. What is refused leaves the cache as it was; what is taken is saved
// as the same bytes, but for what no key needs, and goes on as a cache.
#include <algorithm>

#include "cache.h"
#include "checksum.h"

namespace {

using namespace ropewalk;

// Of the file, in words of 64 bits: see kv_cache_file.cpp.
constexpr size_t kHeaderWords = 21;
constexpr size_t kHeaderBytes = 8 * kHeaderWords;

uint64_t wordAt(const std::vector<uint8_t>& bytes, size_t index) {
  uint64_t word = 0;
  std::memcpy(&word, bytes.data() + 8 * index, 8);
  return word;
}

void setWord(std::vector<uint8_t>& bytes, size_t index, uint64_t word) {
  std::memcpy(bytes.data() + 8 * index, &word, 8);
}

constexpr double kMostNumbers = 1e5;  // in memory, so that no input allocates more than a fuzzer may

double numbersOfToken(const std::vector<uint8_t>& bytes) {
  const auto number = [&](size_t index) { return static_cast<double>(wordAt(bytes, index)); };
  return 1 + number(3) * number(4) * (number(5) + number(6));
}

double numbersOf(const std::vector<uint8_t>& bytes) {
  return static_cast<double>(wordAt(bytes, 8)) * numbersOfToken(bytes);
}

void change(std::vector<uint8_t>& bytes, Input& input) {
  const bool in_header = input.flag();
  const size_t words = bytes.size() / 8;
  const size_t word = in_header ? input.upTo(std::min(words, kHeaderWords) - 1) : input.upTo(words - 1);
  if (input.flag()) {
    bytes[8 * word + input.upTo(7)] ^= input.take<uint8_t>();
  } else {
    const auto step = static_cast<uint64_t>(input.take<int8_t>());
    setWord(bytes, word, input.oneOf({step, wordAt(bytes, word) + step, input.take<uint64_t>()}));
  }
}

void seal(std::vector<uint8_t>& bytes) {
  setWord(bytes, 2, bytes.size());
  Checksum sum;
  sum.add(bytes.data(), kHeaderBytes - 8);
  sum.add(bytes.data() + kHeaderBytes, bytes.size() - kHeaderBytes);
  setWord(bytes, kHeaderWords - 1, sum.value());
}

std::vector<uint8_t> saved(const KvCache& cache) {
  std::vector<uint8_t> bytes(cache.savedSize());
  cache.save(bytes.data());
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  FuzzPlans& plans = cachePlans(input);
  RopePlan* const given[] = {&plans.plans[0], &plans.plans[1], &plans.plans[2]};
  KvCache cache;
  if (cache.create(cacheOptions(input, plans)) != Status::kOk) return 0;
  if (appendTo(cache, input, input.upTo(20), nullptr) != Status::kOk) return 0;
  if (input.flag()) static_cast<void>(cache.shift(0, cache.length(), input.take<int8_t>()));
  if (input.flag()) static_cast<void>(cache.switchTo(given[input.upTo(2)]));
  if (input.flag()) static_cast<void>(appendTo(cache, input, input.upTo(5), nullptr));

  const size_t plan_count = input.oneOf({size_t{3}, size_t{3}, size_t{0}});
  const bool any = input.flag();
  std::vector<uint8_t> bytes(any ? input.left() : cache.savedSize());
  if (any) {
    for (uint8_t& byte : bytes) byte = input.take<uint8_t>();
  } else {
    cache.save(bytes.data());
    if (input.flag()) bytes.resize(bytes.size() - std::min<size_t>(bytes.size(), input.upTo(254)));
    const bool sealed = bytes.size() >= kHeaderBytes && input.upTo(3) != 0;
    if (sealed) bytes.resize(bytes.size() / 8 * 8);
    while (input.left() > 0 && bytes.size() >= 8) change(bytes, input);
    if (sealed) seal(bytes);
  }
  if (bytes.size() >= kHeaderBytes && numbersOf(bytes) > kMostNumbers) return 0;
  const SavedProblem problem = KvCache::checkSaved(bytes.data(), bytes.size(), given, plan_count);
  const CacheContents before = contentsOf(cache);
  KvCache restored;
  const Status status = restored.restore(bytes.data(), bytes.size(), given, plan_count);
  if (status != Status::kOk) {
    require(problem == SavedProblem::kNone || status == Status::kInvalidArgument);
    require(cache.restore(bytes.data(), bytes.size(), given, plan_count) == status);
    require(contentsOf(cache) == before);
    return 0;
  }
  require(problem == SavedProblem::kNone);
  // Words that say nothing come back as zeros: plans that turned no key, room for other formats.
  const std::vector<uint8_t> again = saved(restored);
  require(again.size() == bytes.size());
  KvCache third;
  require(third.restore(again.data(), again.size(), given, plan_count) == Status::kOk);
  require(saved(third) == again);

  if (numbersOfToken(bytes) > kMostNumbers) return 0;
  contentsOf(restored);
  static_cast<void>(appendTo(restored, input, 3, nullptr));
  static_cast<void>(restored.shift(0, restored.length(), 1));
  if (restored.plan() != nullptr) static_cast<void>(restored.switchTo(given[1]));
  static_cast<void>(restored.truncate(restored.length() / 2));
  contentsOf(restored);
  return 0;
}
