// The kernel of Model::check_inputs(): flags and distances of samples in a caller's array.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mylos/base/device/arena.hpp"
#include "mylos/base/execution_fwd.hpp"
#include "mylos/inference/arrays/array_samples.hpp"
#include "mylos/inference/uncertainty/stored_inputs.hpp"

namespace mylos {

/// What a kernel compares samples with, in its memory. Null: not compared.
struct InputTable {
  std::int64_t inputs = 0;
  std::int64_t channels = 0;
  const double* minimum = nullptr;  // [channels]
  const double* maximum = nullptr;
  const double* mean = nullptr;    // [inputs]
  const double* factor = nullptr;  // [inputs, inputs]: distance_factor(), transposed on devices
};

/// The memory of a table.
class InputTables {
 public:
  /// Allocates memory_bytes().
  InputTables(const KnownInputs& known, std::int64_t inputs);
  [[nodiscard]] static std::size_t memory_bytes(const KnownInputs& known);
  [[nodiscard]] const InputTable& table() const { return table_; }

 private:
  Arena arena_;
  InputTable table_;
};

/// Where flags go, in the memory of kernels.
struct FlagTarget {
  std::uint8_t* data = nullptr;
  std::int64_t first = 0;  // sample
  StridedIndex sample;
};

/// Flags samples [first, first + count) of `array`, which lies where kernels run, and writes their distances
/// to `distances`, if that is not null and the table has them. Distances above `limit` are far. Of samples
/// that are not finite the distance is infinite. Allocates nothing.
void flag_samples(const Execution& exec, const ArraySamples& array, std::int64_t first, std::int64_t count,
                  const InputTable& table, double limit, const FlagTarget& flags, float* distances);

}  // namespace mylos
