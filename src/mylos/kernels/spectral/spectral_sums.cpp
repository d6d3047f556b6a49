#include "mylos/kernels/spectral/spectral_sums.hpp"

#include "mylos/base/pieces.hpp"
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

void add_up_boxes(const SpectralStep& step, float* q, const Tensor& doubles) {
  if (doubles.empty() || !step.add_up) return;
  auto* const sums = doubles.as<double>();
  copy_coefficients(step.exec, static_cast<const float*>(q), sums, doubles.size());
  step.add_up(doubles);
  copy_coefficients(step.exec, static_cast<const double*>(sums), q, doubles.size());
}

/// Takes the doubles of the real coefficients; none of whole samples.
Tensor SpectralConvolution::take_sums(Pieces& pieces, std::int64_t samples, std::int64_t channels) const {
  if (!shape_.part.is_split()) return {};
  return pieces.take_tensor(DType::fp64, samples, coefficient_grid(shape_, channels).columns());
}

std::size_t SpectralConvolution::sum_bytes(std::int64_t samples, std::int64_t channels) const {
  Pieces pieces(nullptr);
  return take_sums(pieces, samples, channels).bytes();
}

}  // namespace mylos
