#include "mylos/inference/uncertainty/input_flags.hpp"

#include <cmath>
#include <vector>

#include "mylos/inference/arrays/element_types.hpp"
#include "mylos/inference/arrays/scaling_arrays.hpp"
#include "mylos/inference/uncertainty/mahalanobis.hpp"
#include "mylos/kernels/launch/launch.hpp"

namespace mylos {
namespace {

/// A thread flags these samples together: a cache line of an array whose samples lie next to each other.
constexpr std::int64_t block_samples = 16;
/// Up to this work the calling thread does it itself: a kernel would take longer to start.
constexpr std::int64_t max_work_of_caller = 16384;

/// Samples of a caller's array, and what becomes of them.
template <class Element>
struct FlagSamples {
  const Element* data;
  std::int64_t first;
  StridedIndex sample, value;
  InputTable table;
  double limit;
  FlagTarget flags;
  float* distances;

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION const Element* at(std::int64_t index) const {
    return data + sample.offset(first + index);
  }
  /// NaN is outside.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION bool is_outside(double x, std::int64_t i) const {
    if (table.minimum == nullptr) return false;
    const std::int64_t channel = table.channels == table.inputs ? i : i % table.channels;
    return !(x >= table.minimum[channel] && x <= table.maximum[channel]);
  }
  KOKKOS_FORCEINLINE_FUNCTION void write(std::int64_t index, bool is_finite, bool is_outside_range,
                                         double square) const {
    const double distance = is_finite ? Kokkos::sqrt(square) : Kokkos::Experimental::infinity_v<double>;
    const bool is_far = table.mean != nullptr && !(distance <= limit);
    const bool is_outside_now = is_outside_range || (!is_finite && table.minimum != nullptr);
    flags.data[flags.sample.offset(flags.first + index)] =
        static_cast<std::uint8_t>((is_outside_now ? input_flag::outside_range : 0) |
                                  (is_far ? input_flag::far : 0) | (is_finite ? 0 : input_flag::not_finite));
    if (distances != nullptr) distances[index] = static_cast<float>(distance);
  }

  void flag_on_host(std::int64_t begin, std::int64_t end) const {
    double z[max_distance_inputs];
    const std::int64_t step = value.step();
    for (std::int64_t index = begin; index < end; ++index) {
      const Element* const x = at(index);
      bool is_finite = true;
      bool is_out = false;
      for (std::int64_t i = 0; i < table.inputs; ++i) {
        const auto number = static_cast<double>(entering(x[step != 0 ? i * step : value.offset(i)]));
        is_finite &= std::isfinite(number);
        is_out |= is_outside(number, i);
        if (table.mean != nullptr) z[i] = number - table.mean[i];
      }
      const bool has_distance = table.mean != nullptr && is_finite;
      write(index, is_finite, is_out, has_distance ? squared_distance(table.factor, z, table.inputs) : 0);
    }
  }
};

template <class Element>
void launch_flags(const Execution& exec, std::int64_t count, const FlagSamples<Element>& samples) {
  if constexpr (runs_on_host) {
    const std::int64_t inputs = samples.table.inputs;
    const std::int64_t work = count * inputs * (samples.table.mean == nullptr ? 1 : 1 + inputs / 4);
    if (work <= max_work_of_caller) return samples.flag_on_host(0, count);
    for_each_block(exec, "flag_inputs", count, block_samples,
                   [samples](std::int64_t begin, std::int64_t end) { samples.flag_on_host(begin, end); });
  } else {
    const std::int64_t n = samples.table.inputs;
    for_each_row(
        exec, "flag_inputs", count, n, KOKKOS_LAMBDA(std::int64_t index, const Row& row) {
          const Element* const x = samples.at(index);
          const InputTable& table = samples.table;
          constexpr std::int64_t one_outside = std::int64_t{1} << 32;  // below: those that are not finite
          const std::int64_t bad = row.sum(n, [&](std::int64_t i) {
            const auto number = static_cast<double>(entering(x[samples.value.offset(i)]));
            return (Kokkos::isfinite(number) ? 0 : std::int64_t{1}) +
                   (samples.is_outside(number, i) ? one_outside : 0);
          });
          const bool is_finite = bad % one_outside == 0;
          double square = 0;
          if (table.mean != nullptr && is_finite) {
            square = row.sum(n, [&](std::int64_t i) {
              double sum = 0;
              for (std::int64_t j = i; j < n; ++j) {
                const auto number = static_cast<double>(entering(x[samples.value.offset(j)]));
                sum += table.factor[j * n + i] * (number - table.mean[j]);
              }
              return sum * sum;
            });
          }
          row.once([&] { samples.write(index, is_finite, bad >= one_outside, square); });
        });
  }
}

/// Lanes of a device read a column of F together.
std::vector<double> as_kernels_read(const std::vector<double>& factor, std::size_t n) {
  if constexpr (runs_on_host) return factor;
  std::vector<double> transposed(factor.size());
  for (std::size_t i = 0; i < factor.size(); ++i) transposed[i % n * n + i / n] = factor[i];
  return transposed;
}

}  // namespace

InputTables::InputTables(const KnownInputs& known, std::int64_t inputs)
    : arena_("input statistics", memory_bytes(known)) {
  const InputStatistics& statistics = known.statistics;
  Pieces pieces(arena_.data());
  table_.inputs = inputs;
  table_.channels = static_cast<std::int64_t>(statistics.minimum.size());
  table_.minimum = copied_for_kernels(statistics.minimum, pieces);
  table_.maximum = copied_for_kernels(statistics.maximum, pieces);
  table_.mean = copied_for_kernels(statistics.mean, pieces);
  table_.factor = copied_for_kernels(as_kernels_read(known.factor, statistics.mean.size()), pieces);
}

std::size_t InputTables::memory_bytes(const KnownInputs& known) {
  const InputStatistics& statistics = known.statistics;
  Pieces pieces(nullptr);
  for (const auto* values : {&statistics.minimum, &statistics.maximum, &statistics.mean, &known.factor})
    pieces.take<double>(static_cast<std::int64_t>(values->size()));
  return pieces.bytes();
}

void flag_samples(const Execution& exec, const ArraySamples& array, std::int64_t first, std::int64_t count,
                  const InputTable& table, double limit, const FlagTarget& flags, float* distances) {
  dispatch_element(array.type, [&](auto element) {
    using Element = typename decltype(element)::type;
    launch_flags(exec, count,
                 FlagSamples<Element>{static_cast<const Element*>(array.data), first, array.sample,
                                      array.value, table, limit, flags, distances});
  });
}

}  // namespace mylos
