#include "mylos/kernels/spectral/spectral_sums.hpp"

#include "mylos/base/pieces.hpp"
#include "mylos/kernels/launch/reduce.hpp"
#include "mylos/kernels/launch/tile_values.hpp"

namespace mylos {
namespace {

/// Writes each coefficient in another type.
template <class From, class To>
void copy_coefficients(const Execution& exec, const From* from, To* to, std::int64_t count) {
  for_each_element(
      exec, "spectral_copy", count, KOKKOS_LAMBDA(std::int64_t i) { to[i] = static_cast<To>(from[i]); });
}

}  // namespace

CoefficientSums::CoefficientSums(const SpectralShape& shape, Pieces& pieces, std::int64_t samples,
                                 std::int64_t channels) {
  if (!shape.part.has_boxes()) return;
  const std::int64_t boxes = shape.part.sum_boxes();
  const std::int64_t numbers = samples * coefficient_grid(shape, channels).columns();
  of_boxes_ = pieces.take_tensor(DType::fp64, boxes, numbers);
  all_ = boxes == 1 ? of_boxes_ : pieces.take_tensor(DType::fp64, 1, numbers);
}

void CoefficientSums::store(const Execution& exec, int box, const float* q) const {
  if (!empty()) copy_coefficients(exec, q, of_boxes_.row_range(box, 1).as<double>(), all_.size());
}

void CoefficientSums::add_up(const SpectralStep& step, float* q) const {
  if (empty()) return;
  if (of_boxes_.rows() > 1) add_rows_by_tree(step.exec, of_boxes_, all_, false);
  if (step.add_up) step.add_up(all_);
  copy_coefficients(step.exec, static_cast<const double*>(all_.as<double>()), q, all_.size());
}

std::size_t SpectralConvolution::sum_bytes(std::int64_t samples, std::int64_t channels) const {
  if (!shape_.part.is_split()) return 0;
  Pieces pieces(nullptr);
  return CoefficientSums(shape_, pieces, samples, channels).all().bytes();
}

}  // namespace mylos
