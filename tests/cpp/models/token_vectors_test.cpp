#include "models/token_vectors.h"

#include <cmath>
#include <utility>
#include <vector>

#include "catch.h"
#include "layers/block_data.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

constexpr size_t kVocab = 19;
constexpr size_t kTypes = 3;
constexpr size_t kPositions = 11;

// Which of the parts there are.
struct Form {
  bool types = false;
  bool positions = false;
  bool norm = false;
  bool projection = false;
  float scale = 1;
  bool late = false;  // positions are added after the projection
};

struct VectorData {
  Form form;
  size_t width, model;
  MatrixData tokens, types, positions, projection;
  NormData norm;

  VectorData(Random& random, const Form& f, size_t table_width, size_t model_dim)
      : form(f),
        width(table_width),
        model(f.projection ? model_dim : table_width),
        tokens(random, kVocab, width, false),
        types(random, f.types ? kTypes : 0, width, false),
        positions(random, f.positions ? kPositions : 0, f.late ? model : width, false),
        projection(random, f.projection ? model_dim : 0, width, true),
        norm(random, f.norm ? NormKind::kLayer : NormKind::kNone, width, false) {}

  static PackedMatrix packed(const MatrixData& data) {
    PackedMatrix matrix;
    REQUIRE(matrix.pack(WeightType::kFloat32, data.weight.data(), data.n, data.k, WeightType::kFloat32) ==
            Status::kOk);
    return matrix;
  }

  TokenTables tables() const {
    TokenTables made;
    made.tokens = packed(tokens);
    if (form.types) made.types = packed(types);
    if (form.positions) made.positions = packed(positions);
    made.norm = norm.norm();
    made.projection = projection.linear(WeightType::kFloat32);
    return made;
  }

  TokenVectors vectors() const {
    TokenVectors made;
    REQUIRE(made.create(form.scale, tables()) == Status::kOk);
    return made;
  }

  Matrix expected(const TokenIds& at) const {
    Matrix sum;
    Matrix after;
    for (size_t i = 0; i < at.batch * at.tokens; ++i) {
      const auto row = [&](const MatrixData& table, int64_t number, size_t d) {
        return static_cast<double>(table.weight[static_cast<size_t>(number) * table.k + d]);
      };
      const int64_t type = at.types == nullptr ? 0 : at.types[i];
      const int64_t position =
          at.positions == nullptr ? static_cast<int64_t>(i % at.tokens) : at.positions[i];
      for (size_t d = 0; d < width; ++d) {
        double x = static_cast<double>(form.scale) * row(tokens, at.ids[i], d);
        if (form.types) x += row(types, type, d);
        if (form.positions && !form.late) x += row(positions, position, d);
        sum.push_back(x);
      }
      for (size_t d = 0; form.late && d < model; ++d) after.push_back(row(positions, position, d));
    }
    const Matrix normed = naiveNorm(sum, norm);
    Matrix made = form.projection ? naiveLinear(normed, projection) : normed;
    for (size_t i = 0; i < after.size(); ++i) made[i] += after[i];
    return made;
  }
};

}  // namespace

TEST_CASE("Token vectors are the sum of their rows, normed and projected where a model has that",
          "[models]") {
  Random random(1);
  const std::vector<int64_t> ids = {0, 18, 7, 7, 3, 16};
  const std::vector<int64_t> types = {0, 1, 2, 2, 0, 1};
  const std::vector<int64_t> positions = {10, 0, 4, 3, 3, 9};
  for (const size_t width : {size_t{1}, size_t{5}, size_t{36}}) {
    for (int bits = 0; bits < 17; ++bits) {
      const bool late = bits == 16;
      const Form form = {(bits & 1) != 0,         (bits & 2) != 0 || late,     (bits & 4) != 0,
                         (bits & 8) != 0 || late, bits % 3 == 0 ? 6.0f : 1.0f, late};
      const VectorData data(random, form, width, 23);
      const TokenVectors vectors = data.vectors();
      for (const bool listed : {false, true}) {
        TokenIds at = {2, 3, ids.data(), nullptr, nullptr};
        if (listed) {
          at.types = types.data();
          at.positions = positions.data();
        }
        std::vector<float> out(6 * data.model, kNaN);
        REQUIRE(vectors.embed(out.data(), at) == Status::kOk);
        // Sums of four numbers, a norm that divides by a small spread, and a product.
        const double tolerance = 64 * static_cast<double>(width + 4) * kUnit;
        INFO("width " << width << ", parts " << bits << ", listed " << listed);
        CHECK(errorShare(out, data.expected(at), tolerance) <= 1);
      }
    }
  }
}

TEST_CASE("Token vectors refuse numbers that a table does not have", "[models]") {
  Random random(2);
  const VectorData data(random, {true, true, true, true}, 8, 4);
  const TokenVectors vectors = data.vectors();
  const std::vector<int64_t> good = {0, 1};
  std::vector<float> out(8);
  for (const int64_t bad : {int64_t{-1}, int64_t{kVocab}, INT64_MIN, INT64_MAX}) {
    const std::vector<int64_t> numbers = {0, bad};
    CHECK(vectors.embed(out.data(), {1, 2, numbers.data()}) == Status::kPositionOutOfRange);
    CHECK(vectors.embed(out.data(), {1, 2, good.data(), numbers.data()}) == Status::kPositionOutOfRange);
    CHECK(vectors.embed(out.data(), {1, 2, good.data(), nullptr, numbers.data()}) ==
          Status::kPositionOutOfRange);
  }
  // More tokens than the table has positions.
  const std::vector<int64_t> many(kPositions + 1, 0);
  std::vector<float> long_out(many.size() * 4);
  CHECK(vectors.embed(long_out.data(), {1, many.size(), many.data()}) == Status::kPositionOutOfRange);
  CHECK(vectors.embed(long_out.data(), {2, many.size() / 2, many.data()}) == Status::kOk);
  CHECK(vectors.embed(nullptr, {0, 0, nullptr}) == Status::kOk);
}

TEST_CASE("Token vectors refuse tables that do not fit, and stay what they were", "[models]") {
  Random random(3);
  const VectorData data(random, {true, true, true, true}, 8, 4);
  const VectorData other(random, {true, true, true, true}, 7, 4);
  TokenVectors vectors = data.vectors();
  const size_t bytes = vectors.bytes();
  const auto refused = [&](auto change) {
    TokenTables tables = data.tables();
    change(tables);
    CHECK(vectors.create(1, std::move(tables)) == Status::kInvalidShape);
    CHECK(vectors.bytes() == bytes);
  };
  refused([](TokenTables& t) { t.tokens = PackedMatrix(); });
  refused([&](TokenTables& t) { t.types = other.tables().types; });
  refused([&](TokenTables& t) { t.positions = other.tables().positions; });
  refused([&](TokenTables& t) { t.norm = other.norm.norm(); });
  refused([&](TokenTables& t) { t.projection = other.tables().projection; });
}

}  // namespace ropewalk::test
