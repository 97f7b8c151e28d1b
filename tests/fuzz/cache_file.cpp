// libFuzzer: bytes that are restored as a saved cache: any, or those of a saved one with some changed. What
// is refused leaves the cache as it was; what is taken is saved as the same bytes.
#include "cache.h"

using namespace ropewalk;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  const size_t head_dim = cacheHeadDim(input);
  FuzzPlans plans(head_dim);
  RopePlan* const given[] = {&plans.plans[0], &plans.plans[1], &plans.plans[2]};
  KvCache cache;
  if (cache.create(cacheOptions(input, plans, head_dim)) != Status::kOk) return 0;
  const size_t tokens = input.upTo(20);
  if (appendTo(cache, input, tokens, nullptr) != Status::kOk) return 0;
  if (input.flag()) static_cast<void>(cache.shift(0, cache.length(), input.take<int8_t>()));

  const bool any = input.flag();
  std::vector<uint8_t> bytes(any ? input.left() : cache.savedSize());
  if (any) {
    for (uint8_t& byte : bytes) byte = input.take<uint8_t>();
  } else {
    cache.save(bytes.data());
    bytes.resize(bytes.size() - (input.flag() ? input.upTo(bytes.size()) : 0));
    while (input.left() > 0 && !bytes.empty()) bytes[input.upTo(bytes.size() - 1)] ^= input.take<uint8_t>();
  }
  const size_t plan_count = input.oneOf({size_t{3}, size_t{3}, size_t{0}});
  const SavedProblem problem = KvCache::checkSaved(bytes.data(), bytes.size(), given, plan_count);
  const CacheContents before = contentsOf(cache);
  KvCache restored;
  const Status status = restored.restore(bytes.data(), bytes.size(), given, plan_count);
  if (problem != SavedProblem::kNone) {
    require(status == Status::kInvalidArgument);
    require(cache.restore(bytes.data(), bytes.size(), given, plan_count) == status);
    require(contentsOf(cache) == before);
    return 0;
  }
  require(status == Status::kOk || status == Status::kOutOfMemory);
  if (status != Status::kOk) return 0;
  std::vector<uint8_t> again(restored.savedSize());
  require(again.size() == bytes.size());
  restored.save(again.data());
  require(again == bytes);
  contentsOf(restored);
  return 0;
}
