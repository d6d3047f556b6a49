#include "mylos/inference/arrays/scaling_arrays.hpp"

#include "mylos/base/execution.hpp"
#include "mylos/base/pieces.hpp"

namespace mylos {
namespace {

ScalingTable copied(const ColumnScaling& scaling, Pieces& pieces) {
  if (scaling.identity()) return {};
  const double* const shift = copied_for_kernels(scaling.shift, pieces);
  return {shift, copied_for_kernels(scaling.scale, pieces)};
}

}  // namespace

const double* copied_for_kernels(const std::vector<double>& values, Pieces& pieces) {
  if (values.empty()) return nullptr;
  auto* const to = pieces.take<double>(static_cast<std::int64_t>(values.size()));
  Kokkos::deep_copy(
      Kokkos::View<double*, Device, Kokkos::MemoryUnmanaged>(to, values.size()),
      Kokkos::View<const double*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(values.data(), values.size()));
  return to;
}

ScalingArrays::ScalingArrays(const Normalizer& normalizer) : arena_("scaling", memory_bytes(normalizer)) {
  Pieces pieces(arena_.data());
  inputs_ = copied(normalizer.inputs, pieces);
  targets_ = copied(normalizer.targets, pieces);
  if (normalizer.targets.identity()) return;
  const std::vector<double> no_shift(normalizer.targets.shift.size());
  deviations_ = {copied_for_kernels(no_shift, pieces), targets_.scale};
}

std::size_t ScalingArrays::memory_bytes(const Normalizer& normalizer) {
  Pieces pieces(nullptr);
  for (const ColumnScaling* scaling : {&normalizer.inputs, &normalizer.targets}) {
    pieces.take<double>(static_cast<std::int64_t>(scaling->shift.size()));
    pieces.take<double>(static_cast<std::int64_t>(scaling->scale.size()));
  }
  pieces.take<double>(static_cast<std::int64_t>(normalizer.targets.shift.size()));  // of deviations
  return pieces.bytes();
}

}  // namespace mylos
