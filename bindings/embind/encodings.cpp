// Bindings of every encoding that is not rotary.
#include <emscripten/bind.h>

#include <algorithm>

#include "calls.h"
#include "encodings/alibi.h"
#include "encodings/binary.h"
#include "encodings/fire.h"
#include "encodings/kerple.h"
#include "encodings/learned.h"
#include "encodings/sandwich.h"
#include "encodings/sinusoidal.h"
#include "encodings/t5.h"

namespace ropewalk::binding {
namespace {

int encodeSinusoidal(Pointer fields, Pointer positions, size_t rows, Pointer out) {
  return number(
      sinusoidal(readCall<SinusoidalOptions>(fields), integers(positions, rows), rows, at<float>(out)));
}

int encodeBinary(Pointer fields, Pointer positions, size_t rows, Pointer out) {
  return number(binaryCode(readCall<BinaryOptions>(fields), integers(positions, rows), rows, at<float>(out)));
}

int mergeLearned(Pointer fields) {
  const auto c = readCall<LearnedCall>(fields);
  return number(learnedPositions(c.mode, c.table, at<float>(c.x), c.x_dim, integers(c.positions, c.rows),
                                 c.rows, at<float>(c.out)));
}

int extendLearnedTable(Pointer fields) {
  const auto c = readCall<ExtendLearnedCall>(fields);
  return number(extendLearned(c.table, c.alpha, c.rows, at<float>(c.out)));
}

int slopesOfAlibi(size_t head_count, Pointer out) {
  return number(alibiSlopes(head_count, at<double>(out)));
}
int biasOfAlibi(Pointer fields, Pointer out) {
  return number(alibiBias(readCall<AlibiOptions>(fields), at<float>(out)));
}

int createT5(T5Buckets& buckets, Pointer fields) {
  return number(buckets.create(readCall<T5Options>(fields)));
}
void bucketsOfT5(const T5Buckets& buckets, Pointer relative, size_t n, Pointer out) {
  const int64_t* distances = integers(relative, n);
  std::transform(distances, distances + n, at<double>(out),
                 [&](int64_t d) { return static_cast<double>(buckets.bucket(d)); });
}
void biasOfT5(const T5Buckets& buckets, Pointer fields) {
  const auto c = readCall<T5BiasCall>(fields);
  buckets.bias(at<float>(c.table), c.heads, c.queries, c.keys, c.query_offset, at<float>(c.out));
}

int biasOfKerple(Pointer fields, Pointer r1, Pointer r2, Pointer out) {
  return number(kerpleBias(readCall<KerpleOptions>(fields), at<float>(r1), at<float>(r2), at<float>(out)));
}

int distancesOfFire(Pointer fields, Pointer out) {
  return number(fireDistances(readCall<FireOptions>(fields), at<float>(out)));
}
int biasOfFire(Pointer fields, Pointer out) {
  return number(fireBias(readCall<FireOptions>(fields), at<float>(out)));
}

int biasOfSandwich(Pointer fields, Pointer out) {
  return number(sandwichBias(readCall<SandwichOptions>(fields), at<float>(out)));
}

}  // namespace
}  // namespace ropewalk::binding

EMSCRIPTEN_BINDINGS(encodings) {
  using namespace emscripten;
  using namespace ropewalk;
  using namespace ropewalk::binding;

  function("sinusoidal", &encodeSinusoidal);

  function("binaryCode", &encodeBinary);

  function("learnedPositions", &mergeLearned);
  function("extendLearned", &extendLearnedTable);

  function("alibiSlopes", &slopesOfAlibi);
  function("alibiBias", &biasOfAlibi);

  class_<T5Buckets>("T5Buckets")
      .constructor<>()
      .function("create", &createT5)
      .function("buckets", &bucketsOfT5)
      .function("bias", &biasOfT5);

  function("kerpleBias", &biasOfKerple);

  function("fireDistances", &distancesOfFire);
  function("fireBias", &biasOfFire);

  function("sandwichBias", &biasOfSandwich);
}
