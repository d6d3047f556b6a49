// ArraySamples: where the samples of a caller's array lie in memory.
//
// The trailing dimensions of an array are a sample, the leading ones number samples, the last of them
// fastest. Dimensions without a gap between them are merged, so that most arrays have one of each.
#pragma once

#include <Kokkos_Macros.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "mylos/base/tensor.hpp"
#include "mylos/inference/array_view.hpp"
#include "mylos/inference/input_check.hpp"

namespace mylos {

/// Some dimensions of an array, the outermost first. Plain memory, which kernels receive.
struct StridedIndex {
  int rank = 0;
  std::int64_t extent[max_array_rank] = {};
  std::int64_t stride[max_array_rank] = {};  // in elements

  /// Returns the offset, in elements, of the index that counts these dimensions, the last of them fastest.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t offset(std::int64_t index) const {
    std::int64_t sum = 0;
    for (int d = rank - 1; d > 0; --d) {
      const std::int64_t outer = index / extent[d];
      sum += (index - outer * extent[d]) * stride[d];
      index = outer;
    }
    return rank == 0 ? 0 : sum + index * stride[0];
  }
  /// Appends a dimension, merged with the last one where no gap lies between them.
  void append(std::int64_t its_extent, std::int64_t its_stride);
  /// Returns the distance of successive indices if that is constant; 0 if it is not.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t step() const {
    return rank == 0 ? 1 : rank == 1 ? stride[0] : 0;
  }
};

struct ArraySamples {
  const char* name = "";                 // of the argument, for messages
  void* data = nullptr;                  // of a ConstArray too, which is only read
  ElementType type = ElementType::fp32;  // not of flags
  std::int64_t element_bytes = sizeof(float);
  bool on_device = false;
  std::int64_t count = 0;
  StridedIndex sample;  // numbers samples
  StridedIndex value;   // numbers the values of a sample
  // As the caller gave them, without those of one element.
  StridedIndex leading;
  ArrayOrder order = ArrayOrder::c;  // in which messages name them

  /// Returns whether samples are rows without gaps.
  [[nodiscard]] bool is_contiguous(std::int64_t values_of_sample) const {
    return value.step() == 1 && (count <= 1 || sample.step() == values_of_sample);
  }
};

/// What an array must be.
struct SampleFormat {
  const char* name;                        // of the argument, for messages: "x"
  const char* values;                      // "inputs"
  const std::vector<std::int64_t>& shape;  // of a sample
  const std::vector<std::string>& names;   // of its values or channels, which messages list; may be empty
  std::int64_t size;                       // the product of `shape`
};

/// Returns the samples of the array. Throws Error (bad_input) if its last dimensions are not a sample, nor
/// one flat dimension of its size, and for a rank, strides or an address that are not valid.
[[nodiscard]] ArraySamples samples_of(const ConstArray& array, const SampleFormat& format);
[[nodiscard]] ArraySamples samples_of(const Array& array, const SampleFormat& format);
/// The same for arrays whose elements are samples: a number of each, or its flags. `name`: of the argument.
[[nodiscard]] ArraySamples numbers_of(const Array& array, const char* name);
[[nodiscard]] ArraySamples numbers_of(const FlagArray& array, const char* name);

/// Throws Error (bad_input) that says what the dimensions of a sample are, in the order of the caller.
[[noreturn]] void refuse_samples(const ConstArray& array, const SampleFormat& format);
/// Returns by which number the caller knows dimension `d`: from 0 in C, from 1 in Fortran.
[[nodiscard]] int number_of_dimension(ArrayOrder order, int rank, int d);

/// Orders the samples of both arrays in the same way, so that successive samples of `x` are near each other.
/// Throws Error (bad_input) if the arrays have other samples, or if elements of `y` lie over elements of `x`
/// or of `y`.
void match_samples(ArraySamples& x, ArraySamples& y);
/// Throws Error (bad_input) if elements of `y` lie over elements of `x`.
void require_apart(const ArraySamples& x, const ArraySamples& y);

/// Returns the columns of a matrix of floats as an array.
[[nodiscard]] ArraySamples array_of_rows(const Tensor& rows);

}  // namespace mylos
