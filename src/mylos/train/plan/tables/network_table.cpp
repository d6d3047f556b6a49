#include "mylos/train/plan/tables/network_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mylos/base/errors/units.hpp"
#include "mylos/kernels/spectral/spectral.hpp"

namespace mylos {
namespace {

/// Returns "14 x 14 x 32", channels last, for a grid, the length for a vector, or "64 tokens x 128".
std::string shape_of(const Chain& chain, std::size_t stage) {
  const std::int64_t outputs = chain.signature(stage).outputs;
  const GridShape grid = stage < chain.grids.size() ? chain.grids[stage] : GridShape{.channels = outputs};
  std::string text;
  if (chain.rows_per_sample > 1) text = fmt::format("{} tokens x ", chain.rows_per_sample);
  for (const std::int64_t extent : grid.extent) {
    if (extent > 1) text += fmt::format("{} x ", extent);
  }
  return text + std::to_string(grid.channels);
}

std::int64_t parameters_of(const Chain& chain, std::size_t stage) {
  std::int64_t count = 0;
  for (const ParameterSpec& spec : chain.stage_parameters(stage)) count += spec.size();
  return count;
}

struct NetworkRow {
  std::string layer;
  std::string kind;
  std::string output;
  std::string type;
  std::string parameters;
  std::string bytes;
  std::string flops;
};

/// Returns a stage's row. The head's outputs, if stored, are in its workspace.
NetworkRow row_of(const Chain& chain, std::size_t stage, const Engines& engines, std::int64_t samples) {
  const Signature& signature = chain.signature(stage);
  const std::int64_t rows = samples * chain.rows_per_sample;
  NetworkRow row{.layer = signature.name,
                 .kind = std::string(signature.kind),
                 .output = shape_of(chain, stage),
                 .type = std::string(name_of(signature.output_type)),
                 .parameters = std::to_string(parameters_of(chain, stage)),
                 .bytes = "",
                 .flops = ""};
  double flops = 0;
  if (stage < chain.blocks.size()) {
    const BlockCost cost = chain.blocks[stage]->cost(engines, rows);
    row.bytes = format_bytes(static_cast<std::int64_t>(cost.output_bytes));
    flops = cost.forward_flops + cost.backward_flops;
  } else {
    flops = chain.head->cost(engines, rows).flops;
  }
  row.flops = fmt::format("{:.3f}", flops / static_cast<double>(samples) / 1e6);
  return row;
}

// Products compute about this number of operations in the time of one of an FFT's: docs/how-to/networks.md
// has the measurement, of hosts.
constexpr double gemm_flops_per_fft_operation = 8;

std::string extents_of(const Extents& extents) {
  std::string text;
  for (const std::int64_t extent : extents) {
    if (extent > 1) text += fmt::format("{}{}", text.empty() ? "" : " x ", extent);
  }
  return text.empty() ? "1" : text;
}

}  // namespace

std::string note_on_transforms(const Chain& chain) {
  std::string text;
  for (const auto& block : chain.blocks) {
    const SpectralConvolution* const spectral = block->spectral();
    if (spectral == nullptr) continue;
    const GridShape grid = whole_grid(spectral->shape());
    const double boxes =
        static_cast<double>(grid.points()) / static_cast<double>(spectral->shape().input.points());
    const double ratio = spectral->transform_flops(1) * boxes / fft_flops(grid, 1);
    if (!(ratio > gemm_flops_per_fft_operation)) continue;
    text += fmt::format(
        "{}layer '{}': with modes {} of {} points its transforms, which are products, take {:.1f} times the "
        "operations of FFTs; those would probably be faster, and fewer modes are",
        text.empty() ? "" : "\n", block->signature().name, extents_of(spectral->shape().modes),
        extents_of(grid.extent), ratio);
  }
  return text;
}

std::string network_table(const Chain& chain, const Engines& engines, std::int64_t samples) {
  std::vector<NetworkRow> rows{
      {"layer", "kind", "output", "type", "parameters", "output bytes", "MFLOP of a sample"}};
  for (std::size_t i = 0; i <= chain.blocks.size(); ++i) rows.push_back(row_of(chain, i, engines, samples));
  std::size_t name = 0;
  std::size_t kind = 0;
  std::size_t shape = 0;
  for (const NetworkRow& row : rows) {
    name = std::max(name, row.layer.size());
    kind = std::max(kind, row.kind.size());
    shape = std::max(shape, row.output.size());
  }
  std::string text;
  for (const NetworkRow& row : rows) {
    text += fmt::format("  {:<{}}  {:<{}}  {:<{}}  {:<6}{:>12}{:>14}{:>19}\n", row.layer, name, row.kind,
                        kind, row.output, shape, row.type, row.parameters, row.bytes, row.flops);
  }
  return text;
}

}  // namespace mylos
