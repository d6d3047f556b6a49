#include "tables/precision_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace mylos::app {
namespace {

constexpr std::size_t max_bar = 40;  // characters of a histogram's longest line

/// Formats with two digits: "0.0012 %", "100 %".
std::string percent(std::int64_t part, const ConversionCounts& counts) {
  const double share =
      100 * static_cast<double>(part) / static_cast<double>(counts.judged + counts.overflows);
  return share >= 99.5 ? fmt::format("{:.0f} %", share) : fmt::format("{:.2g} %", share);
}

/// The verdict and its reasons.
std::string verdict_text(const ConversionCounts& counts) {
  const std::string verdict(name_of(counts.verdict()));
  if (counts.verdict() == Verdict::safe) return verdict;
  if (counts.overflows > 0) return fmt::format("{}: {} overflow", verdict, percent(counts.overflows, counts));
  if (counts.to_zero > 0) return fmt::format("{}: {} to zero", verdict, percent(counts.to_zero, counts));
  return fmt::format("{}: {} subnormal", verdict, percent(counts.subnormal, counts));
}

std::string line_of(std::size_t width, const ArrayPrecision& array, const ConversionCounts& counts,
                    bool first) {
  const ConversionSafety& safety = array.safety;
  const std::string source =
      first ? fmt::format("{:<{}}  {:<8}{:>13}{:>10}{:>10}{:>13}", array.path, width, array.stored,
                          safety.values, safety.nans, safety.infinities, safety.zeros)
            : std::string(width + 56, ' ');
  return fmt::format("{}  {:<5}{:>10}{:>13}{:>13}{:>11.3g}{:>11.3g}  {}\n", source, name_of(counts.type),
                     counts.overflows, counts.to_zero, counts.subnormal, counts.largest_error,
                     counts.mean_error(), verdict_text(counts));
}

/// The effect of a conversion to fp16 on numbers from 2^exponent to 2^(exponent + 1).
std::string fate_in_half(int exponent) {
  constexpr FloatLimits half = limits_of(DType::fp16);
  if (exponent > half.max_exponent) return "overflows in fp16";
  if (exponent >= half.min_exponent) return "";
  const int last = half.min_exponent - half.layout.fraction_bits - 1;  // half the smallest subnormal number
  return exponent < last ? "zero in fp16" : "subnormal in fp16";
}

}  // namespace

std::vector<DType> types_to_check(const ArrayPrecision& array) {
  if (array.stored == "float64") return {DType::fp32, DType::bf16, DType::fp16};
  return {DType::bf16, DType::fp16};
}

std::string precision_table(const FilePrecision& file) {
  std::size_t width = 5;
  for (const auto* part : {&file.arrays, &file.sums}) {
    for (const ArrayPrecision& array : *part) width = std::max(width, array.path.size());
  }
  std::string text =
      fmt::format("{:<{}}  {:<8}{:>13}{:>10}{:>10}{:>13}  {:<5}{:>10}{:>13}{:>13}{:>11}{:>11}  {}\n", "array",
                  width, "stored", "values", "NaN", "infinite", "zero", "type", "overflow", "to zero",
                  "subnormal", "max error", "mean error", "verdict");
  for (const auto* part : {&file.arrays, &file.sums}) {
    for (const ArrayPrecision& array : *part) {
      bool first = true;
      for (const DType type : types_to_check(array)) {
        text += line_of(width, array, array.safety.to(type), first);
        first = false;
      }
    }
  }
  if (!file.others.empty())
    text += fmt::format("not floating-point numbers: {}\n", fmt::join(file.others, ", "));
  return text + fmt::format(
                    "\nsafe: nothing overflows or goes to zero, at most {:g} % are subnormal; lossy: nothing "
                    "overflows, at most {:g} % go\nto zero; unsafe: all else. Shares are of the numbers that "
                    "are finite and not zero. Errors are relative.\n",
                    100 * SafetyThresholds::most_subnormal, 100 * SafetyThresholds::most_to_zero);
}

std::string precision_histograms(const FilePrecision& file) {
  std::string text;
  for (const ArrayPrecision& array : file.arrays) {
    const std::vector<ExponentCount> exponents = array.safety.exponents();
    text += fmt::format(
        "\n{}: {}\n", array.path,
        exponents.empty() ? "no finite number but zero" : "numbers from 2^exponent to twice as much");
    std::int64_t most = 1;
    for (const ExponentCount& line : exponents) most = std::max(most, line.count);
    for (const auto& [exponent, count] : exponents) {
      const double share = static_cast<double>(count) / static_cast<double>(most);
      const auto length = static_cast<std::size_t>(share * max_bar + 0.5);
      std::string line = fmt::format("{:>7}{:>14}  {:<{}}  {}", fmt::format("2^{}", exponent), count,
                                     std::string(length, '#'), max_bar, fate_in_half(exponent));
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + '\n';
    }
  }
  return text;
}

}  // namespace mylos::app
