// FIRE (Li et al., arXiv:2310.04418) as a trained bias, with the gradients of its parameters.
//   b_h(i, d) = out_bias_h + sum_w out_hw relu(hidden_w t + hidden_bias_w),  t = psi(|d|) / psi(max(L, i))
//   psi(x) = ln(1 + |c| x),  L = |l| threshold
// The network is a function of t alone, linear between the points where a hidden unit starts or stops. So a
// pass makes a table of psi and the lines between those points once; a query and a key then cost a few
// operations, whatever the width is, and the gradients of all parameters follow from sums for each line.
#pragma once

#include "training/distance_bias.h"

namespace ropewalk::training {

// The parameters one after the other: c, l (fire.threshold_factor), hidden [W], hidden_bias [W], out [H, W],
// out_bias [H].
inline size_t fireSize(size_t heads, size_t width) {
  return 2 + 2 * width + heads * width + heads;
}

// What a pass knows of the parameters, and sums for their gradients.
class FireTables {
 public:
  FireTables() = default;
  // room: room(shape) numbers, which the tables keep using. They are undefined until `prepare`.
  FireTables(double* room, const BiasShape& shape)
      : room_(room), tokens_(shape.distances.tokens), heads_(shape.heads), width_(shape.width) {}
  static size_t room(const BiasShape& shape) {
    return kNumbers + 2 * shape.distances.tokens + shape.width + 4 * shape.heads * (shape.width + 1);
  }

  explicit operator bool() const { return room_ != nullptr; }
  size_t width() const { return width_; }

  // 1. For parameters and a shape: the tables, and sums of 0.
  template <class T>
  void prepare(const T* parameters, double threshold) const;
  // 2. Between the two, biases (fireBias) and sums of their gradients (fireBiasBackward).
  // 3. Adds to the gradients of the parameters.
  template <class T>
  void addGradients(T* gradients, const T* parameters) const;

  double& c() const { return room_[0]; }
  double& start() const { return room_[1]; }            // L
  double& startByFactor() const { return room_[2]; }    // dL / dl
  double& gradientOfC() const { return room_[3]; }      // |c|
  double& gradientOfStart() const { return room_[4]; }  // L
  double* psi() const { return room_ + kNumbers; }      // [T]
  double* psiByC() const { return psi() + tokens_; }    // [T], d psi / d |c|
  double* knots() const {
    return psiByC() + tokens_;
  }  // [W] of t, in order; line s is for those behind s of them
  // Of a head: value and slope by t of line s are offsets[s] + slopes[s] t and slopes[s].
  double* offsets(size_t head) const { return knots() + width_ + 4 * head * lines(); }
  double* slopes(size_t head) const { return offsets(head) + lines(); }
  double* sums(size_t head) const {
    return slopes(head) + lines();
  }  // of the biases' gradients, for each line
  double* moments(size_t head) const { return sums(head) + lines(); }  // the same times t

 private:
  static constexpr size_t kNumbers = 5;
  size_t lines() const { return width_ + 1; }

  double* room_ = nullptr;
  size_t tokens_ = 0;
  size_t heads_ = 0;
  size_t width_ = 0;
};

// Of which queries and heads biases are wanted.
struct FirePart {
  QueryBlock queries;
  size_t head;  // head .. end - 1
  size_t end;
};

// out [heads, rows, distances], for all queries and heads the first part of distanceBias() for kFire.
template <class T>
void fireBias(T* out, const FireTables& tables, const FirePart& part);

// Adds to the sums of the tables, from the gradients of the biases.
template <class T>
void fireBiasBackward(const FireTables& tables, const T* dbias, const FirePart& part);

}  // namespace ropewalk::training
