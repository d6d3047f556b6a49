// The caller's arrays: checked, and as rows of floats where a trainer reads and writes those.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>

#include "mylos/inference/array_view.hpp"
#include "mylos/mylos.h"
#include "mylos/train/online_trainer.hpp"

namespace mylos::api {

/// Returns the elements that `array` describes. Throws Error (bad_input), which calls it `name`: a null
/// pointer, an unknown type, a rank, extent or stride out of range, or memory of a device in a build for
/// hosts.
[[nodiscard]] ConstArray elements_of(const mylos_const_array* array, const char* name);
[[nodiscard]] Array elements_of(const mylos_array* array, const char* name);

/// Throws Error (bad_input) if a pointer that the caller must give is null.
void require_pointer(const void* pointer, const char* call, const char* name);

/// Returns a flag of the caller. Throws Error (bad_input) unless it is 0 or 1: a larger number was meant as
/// something else.
[[nodiscard]] bool flag_of(std::int32_t value, const char* name);

/// The rows that a trainer works on: the memory of a caller's array if that has contiguous rows of floats
/// where kernels run, else a copy, whose memory is reused and grows with the number of samples.
class Rows {
 public:
  /// Returns the samples of `array`, whose last dimensions are the `values` of a sample. Throws Error
  /// (bad_input), which calls it `name`, if they are not.
  [[nodiscard]] SampleRows<const float> read(const ConstArray& array, std::int64_t values, const char* name);
  /// Returns rows to be written. fetch() then copies them to the array.
  [[nodiscard]] SampleRows<float> write(const Array& array, std::int64_t values, const char* name);
  void fetch(const Array& array) const;

 private:
  void grow(std::int64_t samples, std::int64_t values);
  [[nodiscard]] SampleRows<float> rows() const;

  std::int64_t samples_ = 0;
  std::int64_t values_ = 0;
  bool copied_ = false;
  Kokkos::View<float*, Memory> memory_;
  Kokkos::View<float*, Memory>::host_mirror_type host_;
};

/// The caller's labels where kernels read them.
class Labels {
 public:
  [[nodiscard]] SampleValues<const std::int32_t> copy(const std::int32_t* labels, std::size_t count);

 private:
  Kokkos::View<std::int32_t*, Memory> memory_;
};

}  // namespace mylos::api
