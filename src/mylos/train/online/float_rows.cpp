#include "mylos/train/online/float_rows.hpp"

#include "mylos/kernels/launch/launch.hpp"

namespace mylos {
namespace {

template <class From, class To>
void copy(const Execution& exec, KernelName name, const SampleRows<const From>& from,
          const SampleRows<To>& to) {
  const auto columns = static_cast<std::int64_t>(from.extent(1));
  for_each_element(
      exec, name, static_cast<std::int64_t>(from.size()), KOKKOS_LAMBDA(const std::int64_t i) {
        to(i / columns, i % columns) = static_cast<To>(from(i / columns, i % columns));
      });
}

}  // namespace

void FloatRows::grow(std::size_t rows, std::size_t columns) {
  if (memory_.extent(0) < rows * columns) {
    memory_ = Kokkos::View<float*, Device>(
        Kokkos::view_alloc("doubles as floats", Kokkos::WithoutInitializing), rows * columns);
  }
  rows_ = SampleRows<float>(memory_.data(), rows, columns);
}

SampleRows<const float> FloatRows::read(const Execution& exec, const SampleRows<const double>& rows) {
  grow(rows.extent(0), rows.extent(1));
  copy<double, float>(exec, "to float", rows, rows_);
  return rows_;
}

SampleRows<float> FloatRows::write(const SampleRows<double>& rows) {
  grow(rows.extent(0), rows.extent(1));
  return rows_;
}

void FloatRows::fetch(const Execution& exec, const SampleRows<double>& rows) const {
  copy<float, double>(exec, "to double", rows_, rows);
}

}  // namespace mylos
