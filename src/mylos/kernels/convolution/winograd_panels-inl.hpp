// The second operand of the GEMMs, in panels of columns as wide as a register tile.
#include <cstdint>

#include "mylos/kernels/convolution/winograd_tiles.hpp"

#if defined(MYLOS_KERNELS_WINOGRAD_PANELS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MYLOS_KERNELS_WINOGRAD_PANELS_INL_HPP
#undef MYLOS_KERNELS_WINOGRAD_PANELS_INL_HPP
#else
#define MYLOS_KERNELS_WINOGRAD_PANELS_INL_HPP
#endif

#include <hwy/highway.h>

#include "mylos/kernels/gemm/tiles/tile_gemm-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mylos::HWY_NAMESPACE {

/// A matrix [rows, columns] of panels, each [rows, width()]. The widths of the panels differ by at most one
/// vector: a panel of a single vector would stall the processor's units on dependent additions.
class Panels {
 public:
  Panels(std::int64_t rows, std::int64_t columns)
      : rows_(rows), vectors_(divide_up(columns, lanes())), count_(divide_up(vectors_, register_vectors)) {}

  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] std::int64_t width() const { return divide_up(vectors_, count_) * lanes(); }
  [[nodiscard]] std::int64_t vectors() const { return vectors_; }
  /// Returns the number of columns, padded to complete vectors.
  [[nodiscard]] std::int64_t columns() const { return vectors_ * lanes(); }
  [[nodiscard]] std::int64_t first_column(std::int64_t panel) const {
    return panel * vectors_ / count_ * lanes();
  }
  /// Returns the panel that contains the vector of columns.
  [[nodiscard]] std::int64_t panel_of(std::int64_t vector) const {
    return ((vector + 1) * count_ - 1) / vectors_;
  }
  [[nodiscard]] std::int64_t columns_of(std::int64_t panel) const {
    return first_column(panel + 1) - first_column(panel);
  }
  /// Returns the offset of (row, first_column(panel)) in floats.
  [[nodiscard]] std::int64_t at(std::int64_t panel, std::int64_t row) const {
    return (panel * rows_ + row) * width();
  }
  /// Returns the floats of the matrix.
  [[nodiscard]] std::int64_t size() const { return at(count_, 0); }

 private:
  std::int64_t rows_;
  std::int64_t vectors_;
  std::int64_t count_;
};

}  // namespace mylos::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
