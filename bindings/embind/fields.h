// Reads calls and writes results in the heap: consecutive doubles. For objects, Embind would register two
// functions for each field, and call one of them for each field of every call. Only calls/table.h, made from
// calls/table.mjs, defines the order of the fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace ropewalk::binding {

using Pointer = uintptr_t;

template <class T>
T* at(Pointer p) {
  return reinterpret_cast<T*>(p);
}

template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_pointer_v<T>
T fromDouble(double field) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<T>(static_cast<Pointer>(field));
  } else if constexpr (std::is_same_v<T, bool>) {
    return field != 0;
  } else {
    return static_cast<T>(field);
  }
}

template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_pointer_v<T>
double toDouble(T field) {
  if constexpr (std::is_pointer_v<T>) {
    return static_cast<double>(reinterpret_cast<Pointer>(field));
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<double>(static_cast<int>(field));
  } else {
    return static_cast<double>(field);
  }
}

// calls/table.h specializes this for each struct: kDoubles, and read(from, call) or write(result, to).
template <class T>
struct Fields;

template <class Call>
Call readCall(Pointer fields) {
  Call call{};
  Fields<Call>::read(at<double>(fields), call);
  return call;
}

// n consecutive calls, converted in place.
template <class Call>
Call* readCalls(Pointer fields, size_t n) {
  static_assert(sizeof(Call) == Fields<Call>::kDoubles * sizeof(double));
  for (size_t i = 0; i < n; ++i) {
    const Pointer p = fields + i * sizeof(Call);
    const Call call = readCall<Call>(p);
    std::memcpy(at<Call>(p), &call, sizeof(Call));
  }
  return at<Call>(fields);
}

template <class Result>
void writeResult(Pointer out, const Result& result) {
  Fields<Result>::write(result, at<double>(out));
}

}  // namespace ropewalk::binding
