#include "mylos/model/layers/coordinates/coordinates_block.hpp"

#include "mylos/base/device/region.hpp"

namespace mylos {
namespace {

GridShape checked_output(const CoordinatesOptions& options) {
  const GridShape output = with_coordinates(options.grid, options.axes);
  check_grid(output, "a grid with coordinates");
  return output;
}

}  // namespace

CoordinatesBlock::CoordinatesBlock(CoordinatesOptions options)
    : options_(std::move(options)),
      output_(checked_output(options_)),
      signature_{.name = options_.name,
                 .kind = "coordinates",
                 .inputs = options_.grid.columns(),
                 .outputs = output_.columns(),
                 .input_type = options_.type,
                 .output_type = options_.type,
                 .compute_type = options_.type} {}

BlockCost CoordinatesBlock::cost(const Engines&, std::int64_t rows) const {
  return elementwise_cost(signature_, rows);
}

void CoordinatesBlock::forward(const StepContext& context, const BlockMemory& memory) const {
  const Region region("coordinates forward");
  append_coordinates(context.exec, options_.grid, options_.axes, memory.input, memory.output, options_.part);
}

void CoordinatesBlock::backward(const StepContext& context, const BlockMemory&,
                                const BlockGradients& gradients) const {
  if (gradients.input.empty()) return;
  const Region region("coords backward");
  coordinates_backward(context.exec, options_.grid, options_.axes, gradients.output, gradients.input);
}

}  // namespace mylos
