#include "encodings/rope_layout.h"

#include <vector>

#include "catch.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

FrequencyOptions frequencies(size_t dim) {
  FrequencyOptions o;
  o.dim = dim;
  return o;
}

struct Layout {
  std::vector<double> w;
  std::vector<float> w32;
  std::vector<int> axis;
  std::vector<PairRun> runs;
};

Layout layoutOf(const FrequencyOptions& o, const AxisOptions& axes) {
  RopeLayout layout;
  REQUIRE(layOutRope(o, axes, Angles::kFloat32, &layout) == Status::kOk);
  CHECK(layout.axes == axes.axes);
  Layout result;
  for (size_t j = 0; j < o.dim / 2; ++j) {
    result.w.push_back(layout.frequencies[j].toDouble());
    result.w32.push_back(layout.frequencies32[j]);
    result.axis.push_back(layout.axis[j]);
  }
  result.runs.assign(layout.runs, layout.runs + layout.run_count);
  return result;
}

Status statusOf(const FrequencyOptions& o, const AxisOptions& axes) {
  RopeLayout layout;
  return layOutRope(o, axes, Angles::kFloat32, &layout);
}

// base^(-2i/dim) of the plain table, to double.
std::vector<double> plain(size_t dim) {
  std::vector<Real> w(dim / 2);
  double attention_factor = 0;
  REQUIRE(inverseFrequencies(frequencies(dim), w.data(), &attention_factor) == Status::kOk);
  std::vector<double> rounded;
  for (const Real& x : w) rounded.push_back(x.toDouble());
  return rounded;
}

void checkOneRun(const Layout& layout, size_t pairs) {
  REQUIRE(layout.runs.size() == 1);
  CHECK(layout.runs[0].start == 0);
  CHECK(layout.runs[0].first_pair == 0);
  CHECK(layout.runs[0].pairs == pairs);
}

}  // namespace

TEST_CASE("One axis turns all pairs", "[encodings]") {
  const Layout layout = layoutOf(frequencies(10), {});
  CHECK(layout.axis == std::vector<int>(5, 0));
  CHECK(layout.w == plain(10));
  checkOneRun(layout, 5);
}

TEST_CASE("Axial blocks are RoPEs of their own", "[encodings]") {
  const Layout layout = layoutOf(frequencies(16), {AxisLayout::kAxial, 3, {4, 8, 4}});
  CHECK(layout.axis == std::vector<int>{0, 0, 1, 1, 1, 1, 2, 2});
  std::vector<double> expected = plain(4);
  for (const double w : plain(8)) expected.push_back(w);
  for (const double w : plain(4)) expected.push_back(w);
  CHECK(layout.w == expected);
  REQUIRE(layout.runs.size() == 3);
  CHECK((layout.runs[0].start == 0 && layout.runs[0].first_pair == 0 && layout.runs[0].pairs == 2));
  CHECK((layout.runs[1].start == 4 && layout.runs[1].first_pair == 2 && layout.runs[1].pairs == 4));
  CHECK((layout.runs[2].start == 12 && layout.runs[2].first_pair == 6 && layout.runs[2].pairs == 2));
}

TEST_CASE("Sections give runs of pairs to axes and keep one table of frequencies", "[encodings]") {
  const Layout layout = layoutOf(frequencies(128), {AxisLayout::kSections, 3, {16, 24, 24}});
  for (size_t j = 0; j < 64; ++j) CHECK(layout.axis[j] == (j < 16 ? 0 : j < 40 ? 1 : 2));
  CHECK(layout.w == plain(128));
  checkOneRun(layout, 64);
}

TEST_CASE("Interleaved sections take turns up to three times their size", "[encodings]") {
  // Qwen3-VL's [24, 20, 20]: T H W twenty times, then T.
  const Layout layout = layoutOf(frequencies(128), {AxisLayout::kInterleaved, 3, {24, 20, 20}});
  int count[3] = {};
  for (size_t j = 0; j < 64; ++j) {
    ++count[layout.axis[j]];
    CHECK(layout.axis[j] == (j < 60 ? static_cast<int>(j % 3) : 0));
  }
  CHECK((count[0] == 24 && count[1] == 20 && count[2] == 20));
  CHECK(layout.w == plain(128));
  checkOneRun(layout, 64);
}

TEST_CASE("A vision tower's rows and columns have the same frequencies", "[encodings]") {
  const Layout layout = layoutOf(frequencies(16), {AxisLayout::kVision, 2, {}});
  CHECK(layout.axis == std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1});
  std::vector<double> expected = plain(8);
  for (const double w : plain(8)) expected.push_back(w);
  CHECK(layout.w == expected);
  checkOneRun(layout, 8);
}

TEST_CASE("Pixtral's rows have the even frequencies and its columns the odd ones", "[encodings]") {
  const Layout layout = layoutOf(frequencies(16), {AxisLayout::kPixtral, 2, {}});
  CHECK(layout.axis == std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1});
  const std::vector<double> w = plain(16);
  CHECK(layout.w == std::vector<double>{w[0], w[2], w[4], w[6], w[1], w[3], w[5], w[7]});
  checkOneRun(layout, 8);
}

TEST_CASE("float32 frequencies are laid out as the exact ones are", "[encodings]") {
  const AxisOptions layouts[] = {{},
                                 {AxisLayout::kAxial, 2, {8, 8}},
                                 {AxisLayout::kSections, 2, {3, 5}},
                                 {AxisLayout::kInterleaved, 3, {4, 2, 2}},
                                 {AxisLayout::kVision, 2, {}},
                                 {AxisLayout::kPixtral, 2, {}}};
  for (const AxisOptions& axes : layouts) {
    const Layout layout = layoutOf(frequencies(16), axes);
    for (size_t j = 0; j < 8; ++j) CHECK(std::fabs(layout.w32[j] / layout.w[j] - 1) <= 2 * kUnit);
  }
}

TEST_CASE("Sizes that do not fill the rotary dimension are refused", "[encodings]") {
  const auto refused = [](size_t dim, const AxisOptions& axes) {
    return statusOf(frequencies(dim), axes) == Status::kInvalidShape;
  };
  CHECK(refused(0, {}));
  CHECK(refused(7, {}));
  CHECK(refused(8, {AxisLayout::kSingle, 0, {}}));
  CHECK(refused(8, {AxisLayout::kSingle, 2, {}}));
  CHECK(refused(8, {AxisLayout::kSections, 5, {1, 1, 1, 1}}));
  CHECK(refused(8, {AxisLayout::kAxial, 2, {4, 2}}));
  CHECK(refused(8, {AxisLayout::kAxial, 2, {4, 6}}));
  CHECK(refused(8, {AxisLayout::kAxial, 2, {3, 5}}));
  CHECK(refused(8, {AxisLayout::kAxial, 3, {4, 0, 4}}));
  CHECK(refused(8, {AxisLayout::kAxial, 2, {4, SIZE_MAX - 3}}));
  CHECK(refused(8, {AxisLayout::kSections, 2, {1, 2}}));
  CHECK(refused(8, {AxisLayout::kSections, 2, {4, 1}}));
  CHECK(refused(8, {AxisLayout::kSections, 2, {SIZE_MAX, 5}}));
  CHECK(refused(8, {AxisLayout::kInterleaved, 2, {2, 2}}));
  CHECK(refused(8, {AxisLayout::kInterleaved, 3, {2, 1, 2}}));
  CHECK(refused(8, {AxisLayout::kVision, 1, {}}));
  CHECK(refused(6, {AxisLayout::kVision, 2, {}}));
  CHECK(refused(6, {AxisLayout::kPixtral, 2, {}}));
}

TEST_CASE("A scaling that looks at the whole table does not fit parts of it", "[encodings]") {
  FrequencyOptions o = frequencies(16);
  o.scaling = Scaling::kYarn;
  o.original_length = 2048;
  o.factor = 2;
  CHECK(statusOf(o, {AxisLayout::kAxial, 2, {8, 8}}) == Status::kInvalidArgument);
  CHECK(statusOf(o, {AxisLayout::kVision, 2, {}}) == Status::kInvalidArgument);
  CHECK(statusOf(o, {AxisLayout::kPixtral, 2, {}}) == Status::kInvalidArgument);
  CHECK(statusOf(o, {AxisLayout::kSections, 2, {4, 4}}) == Status::kOk);
  CHECK(statusOf(frequencies(16), {static_cast<AxisLayout>(6), 2, {}}) == Status::kInvalidArgument);
  CHECK(statusOf(frequencies(16), {static_cast<AxisLayout>(-1), 2, {}}) == Status::kInvalidArgument);
  o.scaling = Scaling::kLinear;
  const Layout halved = layoutOf(o, {AxisLayout::kVision, 2, {}});
  CHECK(halved.w[4] == 0.5);
}

}  // namespace ropewalk::test
