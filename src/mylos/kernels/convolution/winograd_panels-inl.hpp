// A matrix of the products' second operands, in panels of columns as wide as a register tile.
#include <cstdint>

#include "mylos/kernels/convolution/winograd_tiles.hpp"

#if defined(MYLOS_KERNELS_WINOGRAD_PANELS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MYLOS_KERNELS_WINOGRAD_PANELS_INL_HPP
#undef MYLOS_KERNELS_WINOGRAD_PANELS_INL_HPP
#else
#define MYLOS_KERNELS_WINOGRAD_PANELS_INL_HPP
#endif

#include <hwy/highway.h>

#include "mylos/kernels/gemm/tiles/tile_product-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mylos::HWY_NAMESPACE {

/// Of [rows, columns]: panel after panel, each [rows, width()]. They are equally wide, to a vector: a panel
/// of one vector would keep the processor's units waiting for each other.
class Panels {
 public:
  Panels(std::int64_t rows, std::int64_t columns)
      : rows_(rows), vectors_(divide_up(columns, lanes())), count_(divide_up(vectors_, product_vectors)) {}

  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] std::int64_t width() const { return divide_up(vectors_, count_) * lanes(); }
  [[nodiscard]] std::int64_t vectors() const { return vectors_; }
  /// All columns, with those that fill up the last vector.
  [[nodiscard]] std::int64_t columns() const { return vectors_ * lanes(); }
  [[nodiscard]] std::int64_t first_column(std::int64_t panel) const {
    return panel * vectors_ / count_ * lanes();
  }
  /// That a vector of columns lies in.
  [[nodiscard]] std::int64_t panel_of(std::int64_t vector) const {
    return ((vector + 1) * count_ - 1) / vectors_;
  }
  [[nodiscard]] std::int64_t columns_of(std::int64_t panel) const {
    return first_column(panel + 1) - first_column(panel);
  }
  /// Floats before (row, first_column(panel)).
  [[nodiscard]] std::int64_t at(std::int64_t panel, std::int64_t row) const {
    return (panel * rows_ + row) * width();
  }
  /// Floats of the whole matrix.
  [[nodiscard]] std::int64_t size() const { return at(count_, 0); }

 private:
  std::int64_t rows_;
  std::int64_t vectors_;
  std::int64_t count_;
};

}  // namespace mylos::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
