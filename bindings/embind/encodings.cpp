// Every encoding that is not rotary.
#include <emscripten/bind.h>

#include <algorithm>

#include "calls.h"
#include "encodings/alibi.h"
#include "encodings/binary.h"
#include "encodings/kerple.h"
#include "encodings/learned.h"
#include "encodings/sinusoidal.h"
#include "encodings/t5.h"

namespace ropewalk::binding {
namespace {

int encodeSinusoidal(const SinusoidalOptions& options, Pointer places, size_t rows, Pointer out) {
  return number(sinusoidal(options, integers(places, rows), rows, at<float>(out)));
}

int encodeBinary(const BinaryOptions& options, Pointer places, size_t rows, Pointer out) {
  return number(binaryCode(options, integers(places, rows), rows, at<float>(out)));
}

int mergeLearned(int mode, Pointer table, size_t table_rows, size_t dim, Pointer x, size_t x_dim,
                 Pointer places, size_t rows, Pointer out) {
  return number(learnedPositions(static_cast<LearnedMode>(mode), {at<float>(table), table_rows, dim},
                                 at<float>(x), x_dim, integers(places, rows), rows, at<float>(out)));
}

int extendLearnedTable(Pointer table, size_t table_rows, size_t dim, double alpha, size_t rows, Pointer out) {
  return number(extendLearned({at<float>(table), table_rows, dim}, alpha, rows, at<float>(out)));
}

int slopesOfAlibi(size_t head_count, Pointer out) {
  return number(alibiSlopes(head_count, at<double>(out)));
}
int biasOfAlibi(const AlibiOptions& options, Pointer out) {
  return number(alibiBias(options, at<float>(out)));
}

int createT5(T5Buckets& buckets, const T5Options& options) {
  return number(buckets.create(options));
}
void bucketsOfT5(const T5Buckets& buckets, Pointer relative, size_t n, Pointer out) {
  const int64_t* distances = integers(relative, n);
  std::transform(distances, distances + n, at<double>(out),
                 [&](int64_t d) { return static_cast<double>(buckets.bucket(d)); });
}
void biasOfT5(const T5Buckets& buckets, Pointer table, size_t head_count, size_t queries, size_t keys,
              double query_offset, Pointer out) {
  buckets.bias(at<float>(table), head_count, queries, keys, static_cast<int64_t>(query_offset),
               at<float>(out));
}

int biasOfKerple(const KerpleOptions& options, Pointer r1, Pointer r2, Pointer out) {
  return number(kerpleBias(options, at<float>(r1), at<float>(r2), at<float>(out)));
}

}  // namespace
}  // namespace ropewalk::binding

EMSCRIPTEN_BINDINGS(encodings) {
  using namespace emscripten;
  using namespace ropewalk;
  using namespace ropewalk::binding;

  value_object<SinusoidalOptions>("SinusoidalOptions")
      .field("dim", &SinusoidalOptions::dim)
      .field("base", &SinusoidalOptions::base)
      .field("layout", ENUM_FIELD(SinusoidalOptions, SinusoidLayout, layout))
      .field("scale", &SinusoidalOptions::scale);
  function("sinusoidal", &encodeSinusoidal);

  value_object<BinaryOptions>("BinaryOptions")
      .field("bits", &BinaryOptions::bits)
      .field("msbFirst", &BinaryOptions::msb_first)
      .field("sign", &BinaryOptions::sign);
  function("binaryCode", &encodeBinary);

  function("learnedPositions", &mergeLearned);
  function("extendLearned", &extendLearnedTable);

  value_object<AlibiOptions>("AlibiOptions")
      .field("heads", &AlibiOptions::heads)
      .field("queries", &AlibiOptions::queries)
      .field("keys", &AlibiOptions::keys)
      .field("queryOffset", INTEGER_FIELD(AlibiOptions, query_offset))
      .field("variant", ENUM_FIELD(AlibiOptions, AlibiVariant, variant));
  function("alibiSlopes", &slopesOfAlibi);
  function("alibiBias", &biasOfAlibi);

  value_object<T5Options>("T5Options")
      .field("bidirectional", &T5Options::bidirectional)
      .field("numBuckets", &T5Options::num_buckets)
      .field("maxDistance", INTEGER_FIELD(T5Options, max_distance));
  class_<T5Buckets>("T5Buckets")
      .constructor<>()
      .function("create", &createT5)
      .function("buckets", &bucketsOfT5)
      .function("bias", &biasOfT5);

  value_object<KerpleOptions>("KerpleOptions")
      .field("kind", ENUM_FIELD(KerpleOptions, KerpleKind, kind))
      .field("heads", &KerpleOptions::heads)
      .field("queries", &KerpleOptions::queries)
      .field("keys", &KerpleOptions::keys)
      .field("queryOffset", INTEGER_FIELD(KerpleOptions, query_offset));
  function("kerpleBias", &biasOfKerple);
}
