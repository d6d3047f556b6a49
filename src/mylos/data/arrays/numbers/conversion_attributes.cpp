#include "mylos/data/arrays/numbers/conversion_attributes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/datasets.hpp"

namespace mylos {
namespace {

using hdf5::NumberType;

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

}  // namespace mylos
