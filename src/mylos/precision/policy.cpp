#include "mylos/precision/policy.hpp"

#include <algorithm>

namespace mylos {

bool matches_pattern(std::string_view pattern, std::string_view text) {
  // Backtracking is only needed to the last star: extending an earlier star cannot change the result.
  std::size_t at = 0, read = 0;
  std::size_t star = std::string_view::npos, taken_up_to = 0;
  while (read < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      taken_up_to = read;
    } else if (at < pattern.size() && pattern[at] == text[read]) {
      ++at;
      ++read;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      read = ++taken_up_to;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

std::optional<std::string> renamed(std::string_view from, std::string_view to, std::string_view text) {
  std::string result;
  for (;;) {
    const auto star = from.find('*');
    if (star == std::string_view::npos) {
      if (from != text) return std::nullopt;
      return result.append(to);
    }
    if (text.substr(0, star) != from.substr(0, star)) return std::nullopt;
    from.remove_prefix(star + 1);
    text.remove_prefix(star);
    std::size_t taken = 0;
    while (!matches_pattern(from, text.substr(taken))) {
      if (++taken > text.size()) return std::nullopt;
    }
    const auto to_star = std::min(to.find('*'), to.size());
    result.append(to.substr(0, to_star));
    if (to_star < to.size()) {
      result.append(text.substr(0, taken));
      to.remove_prefix(to_star + 1);
    } else {
      to = {};
    }
    text.remove_prefix(taken);
  }
}

DType compute_type(const PrecisionOptions& options, std::string_view name, std::string_view kind) {
  enum Strength { none, by_kind, by_pattern, by_name };
  DType result = options.compute;
  Strength strongest = none;
  for (const PrecisionRule& rule : options.rules) {
    const bool is_pattern = rule.pattern.find('*') != std::string::npos;
    const Strength strength = rule.pattern == name                                ? by_name
                              : is_pattern && matches_pattern(rule.pattern, name) ? by_pattern
                              : rule.pattern == kind                              ? by_kind
                                                                                  : none;
    if (strength != none && strength >= strongest) {
      strongest = strength;
      result = rule.type;
    }
  }
  return result;
}

DType float_unless_ruled(const PrecisionOptions& options, std::string_view name, std::string_view kind) {
  PrecisionOptions floats = options;
  floats.compute = DType::fp32;
  return compute_type(floats, name, kind);
}

bool rule_applies(const PrecisionRule& rule, std::string_view name, std::string_view kind) {
  return matches_pattern(rule.pattern, name) || rule.pattern == kind;
}

DType gradient_type(GradientType choice, DType compute, bool accumulates) {
  if (choice == GradientType::fp32) return DType::fp32;
  if (choice == GradientType::compute) return compute;
  return accumulates ? DType::fp32 : compute;
}

}  // namespace mylos
