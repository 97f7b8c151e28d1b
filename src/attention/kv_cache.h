// Keys and values of one layer's tokens so far, so that each is computed once. Every token has a position, an
// integer that is exact however often it moves; a rotated key keeps the position and the plan of its
// rotation, and reading rotates it by the whole difference at once: rounding errors never add up.
//
// For a layer: append the projected keys and values (views of [B, T, G, D] or [B, G, T, D]; not rotated, the
// cache does that), then attend with the projected queries of the same tokens. With `turned`, queries that
// the caller has rotated by plan() at nextPosition() (asked before append) save a copy.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attention/attention.h"
#include "attention/cached_rows.h"
#include "encodings/rope.h"
#include "memory.h"
#include "status.h"
#include "tensor_view.h"

namespace ropewalk {

// The numbers of the enum cross the wasm boundary and are saved: add at the end, never renumber.
enum class CachedKeys : int {
  kPlain = 0,     // no rotary encoding
  kRotated = 1,   // turned once, when they come in; read where they lie as long as nothing moved
  kUnrotated = 2  // kept as given, turned into a second buffer for reading
};

// Visible to a query: the last `size` positions up to its own and the first `sink_tokens` keys (StreamingLLM,
// arXiv:2309.17453). append() drops keys that are hidden from every query of its tokens.
struct CacheWindow {
  size_t size = 0;  // 0: everything
  size_t sink_tokens = 0;
  bool rebased =
      false;  // positions close up behind the sink tokens as keys leave; else they stay what they were
};

struct KvCacheOptions {
  size_t batch = 1;      // B
  size_t kv_heads = 0;   // G
  size_t head_dim = 0;   // D
  size_t value_dim = 0;  // Dv
  size_t capacity = 0;   // tokens that there is room for
  bool growing = true;   // by doubling, then by pages; else kFull beyond the capacity
  CachedKeys keys = CachedKeys::kPlain;
  // Of keys and values: kFloat32, kFloat16 or kQ8_0, whose blocks of 32 numbers lie along D and Dv.
  WeightType storage = WeightType::kFloat32;
  RopePlan* plan = nullptr;  // not owned: has to live as long as the cache holds keys that it turned
  CacheWindow window;
};

// Positions of appended tokens.
struct AppendPositions {
  const int64_t* positions =
      nullptr;  // [T], ascending, behind the last one; null: one by one from nextPosition() on
  // [axes, T], for a plan with several axes; null: one by one from the largest position on any axis on.
  const int64_t* axis_positions = nullptr;
};

// Queries [B, H, Tq, D]. By default they are the last Tq tokens; else AttentionOptions has their
// positions.
struct CacheQueries {
  HeadView<const float> q;
  bool at_end = true;
  bool turned = false;  // by plan() already
};

// What is wrong with a saved cache. The numbers cross the wasm boundary.
enum class SavedProblem : int {
  kNone = 0,
  kNoCache = 1,
  kVersion = 2,
  kDamaged = 3,
  kPlans = 4  // not all plans that it needs were given
};

// Whatever a call answers but kOk, the cache is as it was before.
class KvCache {
 public:
  Status create(const KvCacheOptions& options);

  const KvCacheOptions& options() const { return options_; }  // capacity: what it was created with
  RopePlan* plan() const { return options_.plan; }            // the plan in force
  size_t length() const { return rows_.length(); }
  size_t capacity() const { return rows_.capacity(); }
  size_t bytes() const;  // of all that it holds
  const int64_t* positions() const { return rows_.positions(); }
  int64_t nextPosition() const { return length() == 0 ? 0 : positions()[length() - 1] + 1; }

  // Tokens that may be appended at once, the first of them at this position.
  size_t room(int64_t first_position) const;
  // Whether keys visible to a query at this position have left the window.
  bool misses(int64_t position) const;
  // Whether tokens can be appended after the first `length`: no key of their window has left.
  bool mayEndAt(size_t length) const;
  // Whether keys are kept as rotated by this plan.
  bool holdsKeysOf(const RopePlan* plan) const;

  // k [B, G, T, D], v [B, G, T, Dv]. kFull, kInvalidShape, kPositionOutOfRange, kInvalidArgument for
  // positions that do not ascend or that a rebased window would not keep.
  Status append(HeadView<const float> k, HeadView<const float> v, const AppendPositions& at = {});
  // Appends `count` tokens of a cache of the same sizes and storage, from `first` on: the first at
  // position `at`, or nextPosition(), the others at their distances from it. One axis only.
  // With a window, keys that left the other's are missed here as well.
  Status merge(const KvCache& other, size_t first, size_t count, const int64_t* at = nullptr);

  // Keeps the first `length` tokens. kInvalidArgument where the next token would miss keys that left the
  // window.
  Status truncate(size_t length);
  // Removes tokens; the others keep their positions. The first `sink_tokens` tokens that are left are sink
  // tokens.
  Status drop(size_t first, size_t count);
  // Moves tokens by `by` positions on every axis; their order with their neighbours has to stay.
  Status shift(size_t first, size_t count, int64_t by);
  // From now on this plan rotates keys that are appended or read; it must agree with the plans that rotated
  // keys. Earlier plans may be deleted if they rotated none.
  Status switchTo(RopePlan* plan);
  void reset();

  // The first `length` tokens as a cache of their own; *copy is as it was unless this answers kOk.
  Status copyPrefix(size_t length, KvCache* copy) const;

  // Keys of the out.tokens tokens from `first` on, [B, G, T, D], rotated by the plan in force to their
  // positions.
  Status copyKeys(size_t first, HeadView<float> out);
  void copyValues(HeadView<float> out) const { rows_.getValues(out); }  // [B, G, length, Dv]
  // Writes the keys as they were before any rotation, in the pairing of the plan in force.
  Status unturnedKeys(HeadView<float> out) const;

  // attention() over all keys. A window's bounds replace those of the options. kInvalidArgument for queries
  // that miss keys, or without positions where the last tokens are not consecutive.
  Status attend(HeadView<float> out, const CacheQueries& queries, const AttentionOptions& options,
                const ScoreOutputs& scores = {});

  // The whole state as savedSize() bytes, the same on every machine; plans are named by their fingerprints.
  size_t savedSize() const;
  void save(uint8_t* out) const;
  static SavedProblem checkSaved(const uint8_t* bytes, size_t size, RopePlan* const* plans,
                                 size_t plan_count);
  // Plans in any order, among them all that rotated the saved keys. kInvalidArgument where checkSaved() finds
  // fault.
  Status restore(const uint8_t* bytes, size_t size, RopePlan* const* plans, size_t plan_count);

 private:
  // Keys that leave the window as tokens come in, and how far those behind them move up.
  struct Leaving {
    size_t first = 0;
    size_t count = 0;
    int64_t by = 0;
  };
  // Holds a plan in force now or earlier: origins point here; a plan without keys may be deleted. Not a bare
  // pointer, because clang-tidy reports the size of one in a Buffer as a mistake.
  struct KnownPlan {
    RopePlan* plan = nullptr;
  };
  enum class When { kThen, kNow };  // positions as a key came in, or as they are
  using Keys = CachedRows::Keys;
  static constexpr size_t kBlock =
      32;  // tokens that are turned at a time, as rows: their positions lie on the stack

  Leaving leavingBefore(int64_t next) const;
  void leave(const Leaving& leaving);
  void erase(size_t first, size_t count);
  int64_t findNextAxisPosition() const;
  void axisPositionsOf(size_t first, size_t count, When when, int64_t* out) const;
  bool inReach(const RopePlan* plan, size_t row, When when, int64_t by) const;
  size_t slotAt(size_t row) const { return static_cast<size_t>(rows_.origins()[row].plan); }
  bool turnedAny(size_t slot) const;
  Status reservePlans(size_t more);
  size_t findPlan(const RopePlan* plan) const;  // plan_count_ where it is not known
  size_t slotOf(RopePlan* plan);                // for which there is room
  bool readsElsewhere(size_t row) const;
  void noteMoves();
  size_t blockFrom(size_t first) const;
  Status allocateBlock(size_t tokens, Buffer<float>* block) const;  // for up to kBlock of them
  HeadView<float> blockOf(float* block, size_t count) const;
  Status putTurned(size_t first, HeadView<const float> k, const Positions& at, float* block);
  Status turnBlock(size_t first, HeadView<float> block);
  Status readKeys(StoredView* view);
  Status positionQueries(const CacheQueries& queries, AttentionOptions* options) const;
  Status turnQueries(HeadView<float> q, bool at_end, const AttentionOptions& options) const;
  bool isSound() const;

  KvCacheOptions options_;
  CachedRows rows_;
  Buffer<KnownPlan> plans_;
  size_t plan_count_ = 0;
  size_t current_ = 0;                // of plans_
  Pairing pairing_ = Pairing::kHalf;  // of keys that are kept unturned: their plan may be gone
  bool moved_ = false;                // some key has to be turned for reading
  size_t ready_ = 0;                  // this many of the second keys are ready for reading
  bool some_left_ = false;            // keys have left the window
  int64_t last_left_ = 0;             // the position that the last of them would have
  int64_t next_axis_position_ =
      0;  // of several axes: behind the farthest position on any, as text after an image continues
};

}  // namespace ropewalk
