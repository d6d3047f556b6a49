#include "mylos/precision/conversion_safety.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <type_traits>

#include "mylos/base/device/parallel_region.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/precision/conversion_count.hpp"

namespace mylos {
namespace {

using conversion_count::Counts;
using conversion_count::DoubleSource;
using conversion_count::FieldCounts;
using conversion_count::FloatSource;
using conversion_count::Layout;
using conversion_count::Stretch;

constexpr std::array<DType, 3> targets = {DType::fp32, DType::bf16, DType::fp16};
constexpr FloatLimits widest = limits_of(DType::fp64);
constexpr int first_exponent = widest.min_exponent - widest.layout.fraction_bits;

/// Numbers that a thread processes at a time. Errors are summed per block, then over the blocks in order.
constexpr std::int64_t block_length = std::int64_t{1} << 16;

/// Counts of one block.
template <class Source>
struct Block {
  struct Total {
    std::int64_t overflows = 0, to_zero = 0, subnormal = 0;
    double error_sum = 0, largest_error = 0;

    void add(const Counts<Source>& counts) {
      overflows += static_cast<std::int64_t>(counts.overflows);
      to_zero += static_cast<std::int64_t>(counts.to_zero);
      subnormal += static_cast<std::int64_t>(counts.subnormal);
      error_sum += static_cast<double>(counts.error_sum);
      largest_error = std::max(largest_error, static_cast<double>(counts.largest_error));
    }
  };

  std::int64_t zeros = 0, infinities = 0, nans = 0;
  std::array<Total, targets.size()> types;
  std::array<std::uint32_t, Layout<Source>::fields> fields{};
  std::array<std::uint32_t, Layout<Source>::fraction_bits> subnormal{};  // by the position of the first bit

  void add(const Stretch<Source>& part) {
    zeros += static_cast<std::int64_t>(part.zeros);
    infinities += static_cast<std::int64_t>(part.not_finite - part.nans);
    nans += static_cast<std::int64_t>(part.nans);
    types[0].add(part.template count_in<targets[0]>());
    types[1].add(part.template count_in<targets[1]>());
    types[2].add(part.template count_in<targets[2]>());
    if (part.below_normal == part.zeros) return;
    for (std::int64_t i = 0; i < part.count; ++i) {
      const auto bits = part.magnitude[static_cast<std::size_t>(i)];
      if (bits > 0 && bits < Layout<Source>::smallest_normal)
        ++subnormal[static_cast<std::size_t>(std::bit_width(bits) - 1)];
    }
  }
};

template <class Source, class T>
typename Source::Bits magnitude_of(T value) {
  using Number = typename Source::Number;
  if constexpr (std::is_same_v<T, Number>) {
    return std::bit_cast<typename Source::Bits>(value) & Layout<Source>::without_sign;
  } else {
    return std::bit_cast<typename Source::Bits>(to_float(value)) & Layout<Source>::without_sign;
  }
}

template <class Source, class T>
void read_block(const T* values, std::int64_t count, Block<Source>& block) {
  Stretch<Source> part;
  FieldCounts<Source> fields;
  for (std::int64_t done = 0; done < count; done += conversion_count::stretch) {
    part.count = std::min(count - done, conversion_count::stretch);
    const T* from = values + done;
    auto* to = part.magnitude.data();
#pragma omp simd
    for (std::int64_t i = 0; i < part.count; ++i) to[i] = magnitude_of<Source>(from[i]);
    part.inspect_source();
    fields.add(part);
    block.add(part);
  }
  for (std::size_t field = 0; field < block.fields.size(); ++field)
    block.fields[field] = static_cast<std::uint32_t>(fields.of(field));
}

template <class Source>
void add_block(const Block<Source>& block, ConversionSafety& safety) {
  using From = Layout<Source>;
  safety.zeros += block.zeros;
  safety.infinities += block.infinities;
  safety.nans += block.nans;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    ConversionCounts& counts = safety.to(targets[i]);
    const auto& total = block.types[i];
    counts.overflows += total.overflows;
    counts.to_zero += total.to_zero;
    counts.subnormal += total.subnormal;
    counts.error_sum += total.error_sum;
    counts.largest_error = std::max(counts.largest_error, total.largest_error);
  }
  for (int field = 1; field < From::fields - 1; ++field)
    safety.count_exponent(field - From::limits.max_exponent, block.fields[static_cast<std::size_t>(field)]);
  for (int bit = 0; bit < From::fraction_bits; ++bit)
    safety.count_exponent(From::limits.min_exponent - From::fraction_bits + bit,
                          block.subnormal[static_cast<std::size_t>(bit)]);
}

/// Calls body(i) for i in [0, count), on threads if Kokkos is initialised.
template <class Body>
void for_each_on_host(std::int64_t count, const Body& body) {
  if (!Kokkos::is_initialized()) {
    for (std::int64_t i = 0; i < count; ++i) body(i);
    return;
  }
  require_outside_parallel_region("conversion_safety");
  using Host = Kokkos::DefaultHostExecutionSpace;
  Kokkos::parallel_for("conversion", Kokkos::RangePolicy<Host, Kokkos::IndexType<std::int64_t>>(0, count),
                       body);
  Host().fence();
}

template <class Source, class T>
std::vector<Block<Source>> read_blocks(const T* values, std::int64_t count) {
  std::vector<Block<Source>> blocks(static_cast<std::size_t>((count + block_length - 1) / block_length));
  Block<Source>* const block = blocks.data();
  for_each_on_host(static_cast<std::int64_t>(blocks.size()), [=](std::int64_t i) {
    const std::int64_t first = i * block_length;
    read_block(values + first, std::min(block_length, count - first), block[i]);
  });
  return blocks;
}

/// Returns the counts of the type, const or not.
template <class Counts>
auto& counts_of(Counts& all, DType type) {
  const auto found = std::find_if(all.begin(), all.end(),
                                  [type](const ConversionCounts& counts) { return counts.type == type; });
  if (found == all.end()) fail_run(errors::internal, "expected fp32, fp16 or bf16, got {}", name_of(type));
  return *found;
}

}  // namespace

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::safe:
      return "safe";
    case Verdict::lossy:
      return "lossy";
    case Verdict::unsafe:
      break;
  }
  return "unsafe";
}

Verdict ConversionCounts::verdict() const {
  const auto numbers = static_cast<double>(judged + overflows);
  const auto lost = static_cast<double>(to_zero);
  if (overflows > 0 || lost > SafetyThresholds::most_to_zero * numbers) return Verdict::unsafe;
  if (to_zero > 0 || static_cast<double>(subnormal) > SafetyThresholds::most_subnormal * numbers)
    return Verdict::lossy;
  return Verdict::safe;
}

ConversionSafety::ConversionSafety()
    : exponents_(static_cast<std::size_t>(widest.max_exponent - first_exponent + 1)) {
  for (std::size_t i = 0; i < targets.size(); ++i) types_[i].type = targets[i];
}

const ConversionCounts& ConversionSafety::to(DType type) const {
  return counts_of(types_, type);
}

ConversionCounts& ConversionSafety::to(DType type) {
  return counts_of(types_, type);
}

std::vector<ExponentCount> ConversionSafety::exponents() const {
  const auto is_there = [](std::int64_t count) { return count > 0; };
  const auto first = std::find_if(exponents_.begin(), exponents_.end(), is_there);
  const auto last = std::find_if(exponents_.rbegin(), exponents_.rend(), is_there).base();
  std::vector<ExponentCount> counts;
  for (auto at = first; at < last; ++at)
    counts.push_back({first_exponent + static_cast<int>(at - exponents_.begin()), *at});
  return counts;
}

void ConversionSafety::count_exponent(int exponent, std::int64_t count) {
  exponents_.at(static_cast<std::size_t>(exponent - first_exponent)) += count;
}

ConversionSafety& ConversionSafety::operator+=(const ConversionSafety& other) {
  values += other.values;
  zeros += other.zeros;
  nans += other.nans;
  infinities += other.infinities;
  for (std::size_t i = 0; i < types_.size(); ++i) {
    const ConversionCounts& more = other.types_[i];
    types_[i].overflows += more.overflows;
    types_[i].to_zero += more.to_zero;
    types_[i].subnormal += more.subnormal;
    types_[i].judged += more.judged;
    types_[i].error_sum += more.error_sum;
    types_[i].largest_error = std::max(types_[i].largest_error, more.largest_error);
  }
  for (std::size_t i = 0; i < exponents_.size(); ++i) exponents_[i] += other.exponents_[i];
  return *this;
}

template <OneOf<float, double, half, bfloat16> T>
ConversionSafety conversion_safety(std::span<const T> values) {
  using Source = std::conditional_t<std::is_same_v<T, double>, DoubleSource, FloatSource>;
  const auto count = static_cast<std::int64_t>(values.size());
  const std::vector<Block<Source>> blocks = read_blocks<Source>(values.data(), count);
  ConversionSafety safety;
  safety.values = count;
  for (const Block<Source>& block : blocks) add_block(block, safety);
  for (const DType type : targets) {
    ConversionCounts& counts = safety.to(type);
    counts.judged = count - safety.zeros - safety.nans - safety.infinities - counts.overflows;
  }
  return safety;
}

template ConversionSafety conversion_safety(std::span<const float> values);
template ConversionSafety conversion_safety(std::span<const double> values);
template ConversionSafety conversion_safety(std::span<const half> values);
template ConversionSafety conversion_safety(std::span<const bfloat16> values);

}  // namespace mylos
