// FloatRows: a program's doubles as the rows of floats that a trainer reads and writes.
#pragma once

#include "mylos/train/online_trainer.hpp"

namespace mylos {

class FloatRows {
 public:
  /// Returns the rows, rounded to float; valid until the next call. Allocates where it has had fewer values.
  [[nodiscard]] SampleRows<const float> read(const Execution& exec, const SampleRows<const double>& rows);
  /// Returns rows of the same extents, to be written, which fetch() then copies to `rows`.
  [[nodiscard]] SampleRows<float> write(const SampleRows<double>& rows);
  void fetch(const Execution& exec, const SampleRows<double>& rows) const;

 private:
  void grow(std::size_t rows, std::size_t columns);

  Kokkos::View<float*, Device> memory_;
  SampleRows<float> rows_;
};

}  // namespace mylos
