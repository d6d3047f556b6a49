// mylos types: prints the limits of the types, where each is used, and how this machine multiplies it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "commands.hpp"
#include "launch/runtime.hpp"
#include "launch/standard_output.hpp"
#include "launch/start.hpp"
#include "mylos/base/dtype_limits.hpp"
#include "mylos/kernels/gemm/gemm.hpp"
#include "mylos/kernels/gemm/gemm_support.hpp"
#include "mylos/kernels/launch/launch.hpp"

namespace mylos::app {
namespace {

constexpr std::array<DType, 3> all_types = {DType::fp32, DType::bf16, DType::fp16};

struct Row {
  std::string name;
  std::array<std::string, all_types.size()> cells;
};

template <class Cell>
Row row(std::string name, const Cell& cell) {
  Row result{.name = std::move(name), .cells = {}};
  for (std::size_t i = 0; i < all_types.size(); ++i) result.cells[i] = cell(all_types[i]);
  return result;
}

/// The row of one of the limits.
template <class Number>
Row row(std::string name, Number FloatLimits::*limit) {
  return row(std::move(name), [limit](DType type) { return fmt::format("{:.8g}", limits_of(type).*limit); });
}

Row row(std::string name, int FloatLimits::*limit) {
  return row(std::move(name), [limit](DType type) { return fmt::format("{}", limits_of(type).*limit); });
}

/// The same on every machine, and in docs/explanation/numerics.md.
std::vector<Row> rows_of_types() {
  return {
      row("type", [](DType type) { return std::string(name_of(type)); }),
      row("bytes", [](DType type) { return fmt::format("{}", size_of(type)); }),
      row("bits", &FloatLimits::bits),
      row("bits of the exponent",
          [](DType type) { return fmt::format("{}", layout_of(type).exponent_bits); }),
      row("binary digits", &FloatLimits::binary_digits),
      row("decimal digits", &FloatLimits::decimal_digits),
      row("largest", &FloatLimits::largest),
      row("smallest normal", &FloatLimits::smallest_normal),
      row("smallest subnormal", &FloatLimits::smallest_subnormal),
      row("epsilon", &FloatLimits::epsilon),
      row("weights and activations that are multiplied",
          [](DType type) { return fmt::format("compute = \"{}\"", name_of(type)); }),
      {"master weights, moments", {"yes", "no", "no"}},
      {"statistics, softmax, loss, sums", {"yes", "no", "no"}},
      {"gradients between ranks", {"of fp32, fp16", "of bf16", "no"}},
  };
}

std::string describe(const GemmSupport& support) {
  if (support.engines.empty()) return "no device here";
  const std::string engines = fmt::format("by {}", fmt::join(support.engines, ", "));
  if (!support.native) return engines;
  return (*support.native ? "natively, " : "as fp32, ") + engines;
}

std::string text_of(const std::vector<Row>& rows) {
  std::size_t name = 0;
  std::array<std::size_t, all_types.size()> widths{};
  for (const Row& line : rows) {
    name = std::max(name, line.name.size());
    for (std::size_t i = 0; i < all_types.size(); ++i) widths[i] = std::max(widths[i], line.cells[i].size());
  }
  std::string text;
  for (const Row& line : rows) {
    std::string cells = fmt::format("{:<{}}", line.name, name);
    for (std::size_t i = 0; i < all_types.size(); ++i)
      cells += fmt::format("  {:<{}}", line.cells[i], widths[i]);
    cells.erase(cells.find_last_not_of(' ') + 1);
    text += cells + '\n';
  }
  return text;
}

}  // namespace

ExitCode types_command() {
  // Engines of a host start its threads. A device build queries no engine, because the machine may have no
  // device.
  const std::unique_ptr<KokkosRuntime> kokkos = runs_on_host ? std::make_unique<KokkosRuntime>(0) : nullptr;
  std::vector<Row> rows = rows_of_types();
  rows.push_back(row("GEMMs on this machine", [](DType type) { return describe(gemm_support(type)); }));
  standard_output(rank_of_start())
      .line(fmt::format("{}\ncomputed by {}", text_of(rows), describe_instructions()));
  return ExitCode::done;
}

}  // namespace mylos::app
