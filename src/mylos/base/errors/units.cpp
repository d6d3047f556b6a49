#include "mylos/base/errors/units.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "mylos/base/errors/text.hpp"

namespace mylos {
namespace {

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr std::array<Unit, 10> units{{{"", 1.0},
                                      {"B", 1.0},
                                      {"kB", 1e3},
                                      {"MB", 1e6},
                                      {"GB", 1e9},
                                      {"TB", 1e12},
                                      {"KiB", 1024.0},
                                      {"MiB", 1048576.0},
                                      {"GiB", 1073741824.0},
                                      {"TiB", 1099511627776.0}}};

}  // namespace

std::optional<std::int64_t> parse_bytes(std::string_view text) {
  text = trimmed(text);
  double number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc{} || !(number >= 0)) return std::nullopt;
  const auto name = trimmed(text.substr(static_cast<std::size_t>(end - text.data())));
  for (const Unit& unit : units) {
    if (unit.name == name) {
      const double bytes = number * unit.bytes;
      if (!(bytes < 9.2e18)) return std::nullopt;
      return static_cast<std::int64_t>(std::llround(bytes));
    }
  }
  return std::nullopt;
}

std::string format_bytes(std::int64_t bytes) {
  constexpr std::array<std::string_view, 5> names{"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t index = 0;
  while (std::abs(value) >= 1024.0 && index + 1 < names.size()) {
    value /= 1024.0;
    ++index;
  }
  return index == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.4g} {}", value, names[index]);
}

std::optional<std::int64_t> parse_walltime(std::string_view text) {
  std::array<std::int64_t, 3> fields{};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), fields[i]);
    const bool has_sign = text.starts_with('-');  // also true for "-00", which is not negative
    if (status != std::errc{} || has_sign || (i > 0 && fields[i] > 59)) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (i < 2) {
      if (text.empty() || text.front() != ':') return std::nullopt;
      text.remove_prefix(1);
    }
  }
  if (!text.empty() || fields[0] > 1'000'000) return std::nullopt;
  return fields[0] * 3600 + fields[1] * 60 + fields[2];
}

std::string format_duration(double seconds) {
  const auto total = static_cast<std::int64_t>(std::llround(seconds));
  const auto hours = total / 3600;
  const auto minutes = total / 60 % 60;
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, total % 60);
  return fmt::format("{}:{:02}", minutes, total % 60);
}

}  // namespace mylos
