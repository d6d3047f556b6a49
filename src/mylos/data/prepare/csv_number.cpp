#include "mylos/data/prepare/csv_number.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <locale>
#include <optional>
#include <sstream>
#include <string>

namespace mylos {
namespace {

/// Converts numbers that from_chars reports as out of range: it does not distinguish too large from too near
/// to 0; streams do.
std::optional<double> number_of_extreme_size(std::string_view text) {
  std::istringstream stream{std::string(text)};
  stream.imbue(std::locale::classic());
  double value = 0;
  stream >> value;
  return stream.fail() ? std::nullopt : std::optional(value);
}

/// Returns whether the text is an integer (possibly with a point and zeros) that differs from `value`.
bool is_rounded_integer(std::string_view text, float value) {
  if (std::abs(value) < static_cast<float>(max_exact_integer)) return false;
  if (text.starts_with('-')) text.remove_prefix(1);
  if (const auto point = text.find('.'); point != std::string_view::npos) {
    if (text.find_first_not_of('0', point + 1) != std::string_view::npos) return false;
    text = text.substr(0, point);
  }
  if (text.find_first_not_of("0123456789") != std::string_view::npos) return false;
  text.remove_prefix(text.find_first_not_of('0'));
  return fmt::format("{:.0f}", std::abs(static_cast<double>(value))) != text;
}

}  // namespace

CsvNumber csv_number(std::string_view text) {
  using Kind = CsvNumber::Kind;
  const bool has_plus =
      text.size() > 1 && text[0] == '+' && (text[1] == '.' || (text[1] >= '0' && text[1] <= '9'));
  if (has_plus) text.remove_prefix(1);
  float rounded = 0;
  const char* end = text.data() + text.size();
  const auto [read, status] =
      std::from_chars(text.data(), end, rounded);  // by way of double it would round twice
  if (read != end || status == std::errc::invalid_argument) return {};
  if (status == std::errc::result_out_of_range) {
    const auto extreme = number_of_extreme_size(text);
    if (!extreme) return {.kind = Kind::too_large};
    rounded = static_cast<float>(*extreme);
    if (!std::isfinite(rounded)) return {.kind = Kind::too_large};
  }
  if (!std::isfinite(rounded)) return {.kind = Kind::not_finite};
  return {.kind = Kind::finite, .value = rounded, .rounded_integer = is_rounded_integer(text, rounded)};
}

}  // namespace mylos
