#include "mylos/train/plan/tables/tensor_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "mylos/base/dispatch.hpp"
#include "mylos/base/execution.hpp"

namespace mylos {
namespace {

constexpr const char* row_format = "{:<16} {:<18} {:<5} {:>16} {:<8} {:>11} {:>11} {:>11} {:>9} {:>10}";

template <class T>
std::vector<T> on_host(const ConstTensor& tensor) {
  std::vector<T> values(static_cast<std::size_t>(tensor.size()));
  using Source = Kokkos::View<const T*, Device, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  Kokkos::deep_copy(Kokkos::View<T*, Kokkos::HostSpace>(values.data(), values.size()),
                    Source(tensor.as<T>(), values.size()));
  return values;
}

}  // namespace

TensorFacts facts_of(const ConstTensor& tensor) {
  Kokkos::fence();
  TensorFacts facts;
  double sum = 0;
  std::int64_t numbers = 0;
  dispatch(tensor.type(), [&]<class T>(TypeTag<T>) {
    for (const T stored : on_host<T>(tensor)) {
      const auto value = static_cast<double>(to_float(stored));
      if (!std::isfinite(value)) {
        ++facts.non_finite;
        continue;
      }
      facts.least = numbers == 0 ? value : std::min(facts.least, value);
      facts.largest = numbers == 0 ? value : std::max(facts.largest, value);
      facts.zeros += value == 0 ? 1 : 0;
      sum += value;
      ++numbers;
    }
  });
  if (numbers > 0) facts.mean = sum / static_cast<double>(numbers);
  return facts;
}

void show_tensors(const Quiesced& /*quiet*/, Trainer& trainer, BatchSource& batches,
                  const std::function<void(const std::string&)>& line) {
  line(fmt::format(row_format, "layer", "tensor", "type", "shape", "place", "least", "largest", "mean",
                   "zeros", "not finite"));
  const Chain& chain = trainer.model().chain();
  trainer.observe_gradients(batches, [&](const Observation& seen) {
    const TensorFacts facts = facts_of(seen.value);
    const auto number = [](double value) { return fmt::format("{:.4g}", value); };
    line(fmt::format(row_format, chain.stage_name(seen.block), seen.tensor, name_of(seen.value.type()),
                     fmt::format("{} x {}", seen.value.rows(), seen.value.columns()), Memory::name(),
                     number(facts.least), number(facts.largest), number(facts.mean), facts.zeros,
                     facts.non_finite));
  });
}

}  // namespace mylos
