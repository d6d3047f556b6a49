// This file is compiled without contraction of products and sums: value = stored * scale_factor + add_offset
// has the same bits on every processor, and in other programs.
#include "mylos/data/arrays/numbers/number_conversion.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "mylos/base/float16.hpp"

namespace mylos {
namespace {

using hdf5::NumberType;

struct HalfBits {
  std::uint16_t bits;
};
struct BfloatBits {
  std::uint16_t bits;
};

template <class Stored>
double as_double(Stored stored) {
  if constexpr (std::is_same_v<Stored, HalfBits>) {
    return float16::float_from_half_bits(stored.bits);
  } else if constexpr (std::is_same_v<Stored, BfloatBits>) {
    return float16::float_from_bfloat16_bits(stored.bits);
  } else {
    return static_cast<double>(stored);
  }
}

template <class Function>
decltype(auto) dispatch_stored(NumberType type, Function&& function) {
  switch (type) {
    case NumberType::int8:
      return function(std::int8_t{});
    case NumberType::uint8:
      return function(std::uint8_t{});
    case NumberType::int16:
      return function(std::int16_t{});
    case NumberType::uint16:
      return function(std::uint16_t{});
    case NumberType::int32:
      return function(std::int32_t{});
    case NumberType::uint32:
      return function(std::uint32_t{});
    case NumberType::int64:
      return function(std::int64_t{});
    case NumberType::uint64:
      return function(std::uint64_t{});
    case NumberType::fp16:
      return function(HalfBits{});
    case NumberType::bf16:
      return function(BfloatBits{});
    case NumberType::fp32:
      return function(float{});
    case NumberType::fp64:
      break;
  }
  return function(double{});
}

/// Numbers are scaled and compared as doubles, in blocks that stay in the first-level cache: each loop has
/// one task and no branch, so that it vectorises, and only reading is compiled for every stored type.
constexpr std::int64_t block_size = 256;

template <class Stored>
void read_numbers(const Stored* source, std::int64_t step, std::int64_t count, double* numbers) {
  if (step == 1) {
    for (std::int64_t i = 0; i < count; ++i) numbers[i] = as_double(source[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) numbers[i] = as_double(source[i * step]);
  }
}

void scale_numbers(const NumberConversion& by, const double* numbers, std::int64_t count, double* values) {
  const double scale = by.scale;
  const double offset = by.offset;
  for (std::int64_t i = 0; i < count; ++i) values[i] = numbers[i] * scale + offset;
}

/// Copies `values` except for those whose stored number stands for no value. `scaled`: the numbers that must
/// lie in the valid range, as they are stored or scaled.
void fill_missing(const NumberConversion& by, double fill, const double* numbers, const double* scaled,
                  const double* values, std::int64_t count, double* filled) {
  const auto [first, second, third, fourth] = by.missing;
  const double lowest = by.lowest;
  const double highest = by.highest;
  for (std::int64_t i = 0; i < count; ++i) {
    const double number = numbers[i];
    const int is_missing = int{number != number} | int{number == first} | int{number == second} |
                           int{number == third} | int{number == fourth} | int{scaled[i] < lowest} |
                           int{scaled[i] > highest};
    filled[i] = is_missing != 0 ? fill : values[i];
  }
}

/// Returns false if a value is not a finite float.
template <class Result, class Stored>
bool write_values(const Stored* values, std::int64_t step, std::int64_t count, Result* result,
                  std::int64_t result_step) {
  constexpr float max_float = std::numeric_limits<float>::max();
  unsigned bad = 0;
  if (step == 1 && result_step == 1) {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto value = static_cast<Result>(as_double(values[i]));
      bad |= !(std::abs(static_cast<float>(value)) <= max_float);
      result[i] = value;
    }
  } else {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto value = static_cast<Result>(as_double(values[i * step]));
      bad |= !(std::abs(static_cast<float>(value)) <= max_float);
      result[i * result_step] = value;
    }
  }
  return bad == 0;
}

/// What becomes of at most block_size numbers.
class NumberBlock {
 public:
  explicit NumberBlock(const NumberConversion& by)
      : by_(by), is_masked_(by.has_missing || by.fill), fill_(by.fill.value_or(NumberConversion::none)) {}

  /// Returns true if stored numbers are the values.
  [[nodiscard]] bool changes_nothing() const { return !is_masked_ && !by_.is_scaled; }
  double* numbers() { return numbers_; }
  /// Returns the values of the first `count` numbers.
  const double* values(std::int64_t count) {
    if (by_.is_scaled) scale_numbers(by_, numbers_, count, scaled_);
    const double* const values = by_.is_scaled ? scaled_ : numbers_;
    if (!is_masked_) return values;
    fill_missing(by_, fill_, numbers_, by_.range_is_of_values ? values : numbers_, values, count, filled_);
    return filled_;
  }

 private:
  const NumberConversion& by_;
  bool is_masked_;
  double fill_;
  double numbers_[block_size];
  double scaled_[block_size];
  double filled_[block_size];
};

/// The innermost loop.
template <class Result, class Stored>
bool convert_run(NumberBlock& block, const ConversionLoop& loop, const Stored* source, Result* result) {
  if (block.changes_nothing()) return write_values(source, loop.source, loop.count, result, loop.result);
  bool finite = true;
  for (std::int64_t first = 0; first < loop.count; first += block_size) {
    const std::int64_t count = std::min(block_size, loop.count - first);
    read_numbers(source + first * loop.source, loop.source, count, block.numbers());
    finite &= write_values(block.values(count), 1, count, result + first * loop.result, loop.result);
  }
  return finite;
}

/// Two loops of which one is fast in the source and the other in the result, in tiles that stay in the cache.
template <class Result, class Stored>
bool convert_tiles(NumberBlock& block, const ConversionLoop& outer, const ConversionLoop& inner,
                   const Stored* source, Result* result) {
  constexpr std::int64_t tile = 32;
  bool finite = true;
  for (std::int64_t i = 0; i < outer.count; i += tile) {
    for (std::int64_t j = 0; j < inner.count; j += tile) {
      const std::int64_t i_end = std::min(outer.count, i + tile);
      const ConversionLoop run{std::min(tile, inner.count - j), inner.source, inner.result};
      for (std::int64_t k = i; k < i_end; ++k) {
        finite &= convert_run(block, run, source + k * outer.source + j * inner.source,
                              result + k * outer.result + j * inner.result);
      }
    }
  }
  return finite;
}

template <class Result, class Stored>
bool convert_nest(NumberBlock& block, const ConversionLoop* loops, std::size_t count, const Stored* source,
                  Result* result) {
  if (count == 1) return convert_run(block, *loops, source, result);
  if (count == 2) return convert_tiles(block, loops[0], loops[1], source, result);
  bool finite = true;
  for (std::int64_t i = 0; i < loops->count; ++i) {
    finite &=
        convert_nest(block, loops + 1, count - 1, source + i * loops->source, result + i * loops->result);
  }
  return finite;
}

/// Removes loops of one element, and joins two whose elements follow each other; the loop that is fastest in
/// the source becomes the innermost, that of the result the one around it.
void simplify(std::vector<ConversionLoop>& loops) {
  std::erase_if(loops, [](const ConversionLoop& loop) { return loop.count == 1; });
  for (std::size_t i = loops.size(); i-- > 1;) {
    const ConversionLoop inner = loops[i];
    ConversionLoop& outer = loops[i - 1];
    if (outer.source != inner.source * inner.count || outer.result != inner.result * inner.count) continue;
    outer = {outer.count * inner.count, inner.source, inner.result};
    loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(i));
  }
  if (loops.empty()) loops.push_back({1, 1, 1});
  if (loops.size() < 3) return;
  const auto last = loops.end() - 1;
  const auto densest = std::min_element(
      loops.begin(), last, [](const auto& left, const auto& right) { return left.result < right.result; });
  if (densest->result < last->result) std::rotate(densest, densest + 1, last);
}

template <class Result>
bool convert_all(const NumberConversion& by, std::vector<ConversionLoop> loops, const void* source,
                 Result* result) {
  simplify(loops);
  NumberBlock block(by);
  return dispatch_stored(by.type, [&](auto tag) {
    const auto* stored = static_cast<const decltype(tag)*>(source);
    return convert_nest(block, loops.data(), loops.size(), stored, result);
  });
}

}  // namespace

bool is_missing(const NumberConversion& conversion, double stored) {
  double value = stored;
  if (conversion.is_scaled) scale_numbers(conversion, &stored, 1, &value);
  double filled = 0;
  fill_missing(conversion, NumberConversion::none, &stored, conversion.range_is_of_values ? &value : &stored,
               &value, 1, &filled);
  return std::isnan(filled);
}

bool convert_numbers(const NumberConversion& conversion, std::vector<ConversionLoop> loops,
                     const void* source, float* result) {
  return convert_all(conversion, std::move(loops), source, result);
}

bool convert_numbers(const NumberConversion& conversion, std::vector<ConversionLoop> loops,
                     const void* source, double* result) {
  return convert_all(conversion, std::move(loops), source, result);
}

double stored_number(const NumberConversion& conversion, const void* source, std::int64_t index) {
  return dispatch_stored(
      conversion.type, [&](auto tag) { return as_double(static_cast<const decltype(tag)*>(source)[index]); });
}

}  // namespace mylos
