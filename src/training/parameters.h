// The parameters of a model by name, side by side in one array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "memory.h"
#include "status.h"
#include "training/options.h"

namespace ropewalk::training {

// [rows, columns], a matrix [out, in] or a table; or [rows], where columns is 0.
struct ParameterShape {
  size_t rows = 0;
  size_t columns = 0;

  size_t size() const { return rows * (columns == 0 ? 1 : columns); }
};

// How a parameter begins: normally distributed.
struct Start {
  double mean = 0;
  double deviation = 0;
};

struct Parameter {
  char name[40] = {};  // "embedding", "layers.0.query", ...
  ParameterShape shape;
  size_t offset = 0;
  Start start;
  bool decays = false;  // by the optimizer's weight decay
};

// Which there are, in this order: embedding; those of the encoding that all layers share; for each layer
// attention_norm, query, key, value, output, those of the encoding, and feed_forward_norm, up, down where
// there is a feed-forward part; final_norm, unembedding. Norms with a bias have <norm>_bias after them.
//   positions [length, d]; alibi.slopes [H]; t5 [buckets, H]; kerple.r1, kerple.r2 [H];
//   fire.c, fire.threshold_factor [1], fire.hidden_weights, fire.hidden_bias [W], fire.out_weights [H, W],
//   fire.out_bias [H]; relative_embeddings [2 max_relative, d]; axial.rows
//   [length, d], axial.columns [columns, d];
//   per layer relative_keys, relative_values [2 max_relative + 1, D]; relative [2 length - 1, D]; phases [H,
//   D]; forget [H, d], forget_bias [H]; relative_projection [d, d], content_bias, position_bias [H, D];
//   cope [length, D]; frequencies_x, frequencies_y [H, D / 2]
class ParameterLayout {
 public:
  // options have passed check().
  Status create(const ModelOptions& options);

  size_t count() const { return count_; }
  size_t size() const { return size_; }  // numbers of all
  const Parameter& operator[](size_t i) const { return list_[i]; }
  // Null: no such name.
  const Parameter* find(std::string_view name) const;
  const Parameter* find(size_t layer, const char* name) const;

  // Equal for layouts with the same names and shapes, and different for others but for one chance in 2^64.
  uint64_t fingerprint() const;

 private:
  struct Spec;
  void add(const Spec& spec);
  void addNorm(const char* prefix, const char* name, const ModelOptions& options);
  void addShared(const ModelOptions& options);
  void addLayer(const char* prefix, const ModelOptions& options);
  void addOfLayer(const char* prefix, const ModelOptions& options);

  Buffer<Parameter> list_;
  size_t count_ = 0;
  size_t first_of_layers_ = 0;
  size_t per_layer_ = 0;
  size_t size_ = 0;
  bool fits_ = true;
};

// Values for all parameters, the same for a seed on every platform. Each parameter's depend on the seed and
// its name alone, so that models which differ in their encoding begin with the same weights.
template <class T>
void startParameters(const ParameterLayout& layout, uint64_t seed, T* out);

}  // namespace ropewalk::training
