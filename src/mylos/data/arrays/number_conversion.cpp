// This file is compiled without contraction of products and sums: value = stored * scale_factor + add_offset
// has the same bits on every processor, and in other programs.
#include "mylos/data/arrays/number_conversion.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/datasets.hpp"
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

/// Converts one element. `Masked`: some numbers stand for no value.
template <bool Masked, class Result, class Stored>
Result converted(const NumberConversion& by, double fill, Stored stored) {
  const double number = as_double(stored);
  double value = number;
  if (by.is_scaled) value = number * by.scale + by.offset;
  if constexpr (Masked) {
    // All comparisons, without branches: the loop vectorises.
    const double judged = by.range_is_of_values ? value : number;
    const int is_missing = int{number != number} | int{number == by.missing[0]} |
                           int{number == by.missing[1]} | int{number == by.missing[2]} |
                           int{number == by.missing[3]} | int{judged < by.lowest} | int{judged > by.highest};
    value = is_missing != 0 ? fill : value;
  }
  return static_cast<Result>(value);
}

template <class Result>
bool is_finite_float(Result value) {
  return std::abs(static_cast<float>(value)) <= std::numeric_limits<float>::max();
}

/// The innermost loop: consecutive results or not, it vectorises where both are.
template <bool Masked, class Result, class Stored>
bool convert_run(const NumberConversion& by, const ConversionLoop& loop, const Stored* source,
                 Result* result) {
  const double fill = by.fill.value_or(NumberConversion::none);
  unsigned bad = 0;
  if (loop.source == 1 && loop.result == 1) {
    for (std::int64_t i = 0; i < loop.count; ++i) {
      const auto value = converted<Masked, Result>(by, fill, source[i]);
      bad |= !is_finite_float(value);
      result[i] = value;
    }
    return bad == 0;
  }
  for (std::int64_t i = 0; i < loop.count; ++i) {
    const auto value = converted<Masked, Result>(by, fill, source[i * loop.source]);
    bad |= !is_finite_float(value);
    result[i * loop.result] = value;
  }
  return bad == 0;
}

/// Two loops of which one is fast in the source and the other in the result, in tiles that stay in the cache.
template <bool Masked, class Result, class Stored>
bool convert_tiles(const NumberConversion& by, const ConversionLoop& outer, const ConversionLoop& inner,
                   const Stored* source, Result* result) {
  constexpr std::int64_t tile = 32;
  bool finite = true;
  for (std::int64_t i = 0; i < outer.count; i += tile) {
    for (std::int64_t j = 0; j < inner.count; j += tile) {
      const std::int64_t i_end = std::min(outer.count, i + tile);
      const ConversionLoop run{std::min(tile, inner.count - j), inner.source, inner.result};
      for (std::int64_t k = i; k < i_end; ++k) {
        finite &= convert_run<Masked>(by, run, source + k * outer.source + j * inner.source,
                                      result + k * outer.result + j * inner.result);
      }
    }
  }
  return finite;
}

template <bool Masked, class Result, class Stored>
bool convert_nest(const NumberConversion& by, const ConversionLoop* loops, std::size_t count,
                  const Stored* source, Result* result) {
  if (count == 1) return convert_run<Masked>(by, *loops, source, result);
  if (count == 2) return convert_tiles<Masked>(by, loops[0], loops[1], source, result);
  bool finite = true;
  for (std::int64_t i = 0; i < loops->count; ++i) {
    finite &= convert_nest<Masked>(by, loops + 1, count - 1, source + i * loops->source,
                                   result + i * loops->result);
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
  const bool is_masked = by.has_missing || by.fill;
  return dispatch_stored(by.type, [&](auto tag) {
    const auto* stored = static_cast<const decltype(tag)*>(source);
    return is_masked ? convert_nest<true>(by, loops.data(), loops.size(), stored, result)
                     : convert_nest<false>(by, loops.data(), loops.size(), stored, result);
  });
}

const hdf5::Attribute* find_attribute(const std::vector<hdf5::Attribute>& attributes, const char* name) {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const hdf5::Attribute& each) { return each.name == name; });
  return found == attributes.end() ? nullptr : &*found;
}

[[noreturn]] void refuse(const hdf5::Attribute& attribute, const std::string& where, std::string_view what) {
  fail_input(errors::bad_dataset, "{}: its attribute '{}' is not {}", where, attribute.name, what);
}

double number_of(const hdf5::Attribute& attribute, const std::string& where) {
  if (attribute.numbers.size() != 1 || !std::isfinite(attribute.numbers.front()))
    refuse(attribute, where, "one finite number");
  return attribute.numbers.front();
}

bool is_floating(NumberType type) {
  return type >= NumberType::fp16;
}

/// Each unsigned type follows the signed one.
NumberType unsigned_type(NumberType type) {
  return is_floating(type) ? type : static_cast<NumberType>(static_cast<unsigned>(type) | 1U);
}

bool is_true(const hdf5::Attribute* attribute, const std::string& where) {
  if (attribute == nullptr) return false;
  if (attribute->text == "true" || attribute->text == "True") return true;
  if (attribute->text == "false" || attribute->text == "False") return false;
  refuse(*attribute, where, "\"true\" or \"false\"");
}

/// Returns the number as floats store it: an attribute may be a double, 1e20, where the values are floats.
double as_stored(double number, NumberType type) {
  const bool fits = std::abs(number) <= static_cast<double>(std::numeric_limits<float>::max());
  return type == NumberType::fp32 && fits ? static_cast<double>(static_cast<float>(number)) : number;
}

/// Returns the number with which NetCDF fills elements that are never written; NaN of types without: of a
/// byte every value may be meant.
double netcdf_fill(NumberType stored) {
  constexpr double none = NumberConversion::none;
  constexpr double fills[] = {none,
                              none,
                              -32767,
                              65535,
                              -2147483647,
                              4294967295,
                              -9223372036854775806.0,
                              18446744073709551614.0,
                              none,
                              none,
                              9.9692099683868690e+36,
                              9.9692099683868690e+36};
  return fills[static_cast<std::size_t>(stored)];
}

/// Reads what numbers of an array mean from its attributes.
struct AttributeReader {
  const hdf5::ArrayFacts& facts;
  const std::vector<hdf5::Attribute>& attributes;
  const std::string& where;
  NumberConversion& conversion;
  std::size_t missing = 0;  // values so far

  [[nodiscard]] const hdf5::Attribute* find(const char* name) const {
    return find_attribute(attributes, name);
  }

  /// The number of an attribute as those of the array are stored.
  [[nodiscard]] double stored_alike(double number) const {
    if (number < 0 && conversion.type != facts.type)  // _Unsigned: the attribute is signed as well
      number += std::ldexp(1.0, static_cast<int>(8 * size_of(facts.type)));
    return as_stored(number, conversion.type);
  }

  void read_type() {
    if (is_true(find("_Unsigned"), where)) conversion.type = unsigned_type(facts.type);
    const auto* type = find("dtype");
    if (type == nullptr || type->text != "bfloat16") return;
    if (facts.type != NumberType::uint16) {
      fail_input(errors::bad_dataset, "{}: its attribute 'dtype' is \"bfloat16\", but it holds {}", where,
                 name_of(facts.type));
    }
    conversion.type = NumberType::bf16;
  }

  void read_packing() {
    if (const auto* scale = find("scale_factor")) {
      conversion.scale = number_of(*scale, where);
      if (conversion.scale == 0) refuse(*scale, where, "a number other than 0");
    }
    if (const auto* offset = find("add_offset")) conversion.offset = number_of(*offset, where);
    conversion.is_scaled = conversion.scale != 1 || conversion.offset != 0;
  }

  void add_missing(double number) {
    number = stored_alike(number);
    const auto known = conversion.missing.begin() + static_cast<std::ptrdiff_t>(missing);
    if (std::isnan(number) || std::find(conversion.missing.begin(), known, number) != known) return;
    if (missing == NumberConversion::max_missing) {
      fail_input(errors::unsupported_feature,
                 "{}: has more than {} missing values (_FillValue, missing_value)", where,
                 NumberConversion::max_missing);
    }
    conversion.missing[missing++] = number;
    conversion.has_missing = true;
  }

  void read_missing() {
    for (const char* name : {"_FillValue", "missing_value"}) {
      const auto* attribute = find(name);
      if (attribute == nullptr) continue;
      if (attribute->numbers.empty()) refuse(*attribute, where, "a number");
      for (const double number : attribute->numbers) add_missing(number);
    }
    const double fill = as_stored(netcdf_fill(facts.type), facts.type);
    if (find("_FillValue") == nullptr && facts.unwritten && as_stored(*facts.unwritten, facts.type) == fill)
      add_missing(fill);
  }

  /// Reads the lowest value first, and the highest last.
  void narrow(const hdf5::Attribute* attribute, std::size_t numbers, bool is_lowest, bool is_highest) {
    if (attribute == nullptr) return;
    const auto is_nan = [](double number) { return std::isnan(number); };
    if (attribute->numbers.size() != numbers || std::ranges::any_of(attribute->numbers, is_nan))
      refuse(*attribute, where, numbers == 1 ? "one number" : "two numbers");
    const bool is_of_values =
        conversion.is_scaled && is_floating(attribute->type) && !is_floating(conversion.type);
    conversion.range_is_of_values = conversion.range_is_of_values || is_of_values;
    const auto bound = [&](double number) { return is_of_values ? number : stored_alike(number); };
    if (is_lowest) conversion.lowest = bound(attribute->numbers.front());
    if (is_highest) conversion.highest = bound(attribute->numbers.back());
    conversion.has_missing = true;
  }

  void read_range() {
    if (const auto* range = find("valid_range")) return narrow(range, 2, true, true);
    narrow(find("valid_min"), 1, true, false);
    narrow(find("valid_max"), 1, false, true);
  }
};

}  // namespace

NumberConversion conversion_of(const hdf5::ArrayFacts& facts, const std::vector<hdf5::Attribute>& attributes,
                               std::optional<double> fill, const std::string& where) {
  NumberConversion conversion{.type = facts.type, .fill = fill};
  AttributeReader reader{facts, attributes, where, conversion};
  reader.read_type();
  reader.read_packing();
  reader.read_missing();
  reader.read_range();
  return conversion;
}

bool is_missing(const NumberConversion& conversion, double stored) {
  return std::isnan(converted<true, double>(conversion, NumberConversion::none, stored));
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
