#include "mylos/model/block/transpose.hpp"
#include "mylos/model/layers/conv/convolution_block.hpp"
#include "mylos/model/source/source_columns.hpp"
#include "mylos/model/source/source_layer.hpp"

namespace mylos {

bool ConvolutionBlock::write_source(SourceLayer& layer) const {
  const ConvolutionShape& shape = options_.shape;
  if (!is_along_column(shape.input.extent) || !is_along_column(shape.kernel) ||
      !is_along_column(shape.padding, 0) || shape.groups > 1 || shape.transposed)
    return false;
  const std::int64_t points = output_grid(shape).points();
  const bool is_of_points = shape.kernel[2] == 1 && shape.stride[2] == 1 && shape.padding[2] == 0;
  if (!is_of_points) {
    const SourceWindows windows{.points = shape.input.points(),
                                .channels = shape.input.channels,
                                .count = points,
                                .taps = shape.kernel[2],
                                .stride = shape.stride[2],
                                .dilation = shape.dilation[2],
                                .padding = shape.padding[2],
                                .edges = shape.padding_kind[2]};
    layer.append(SourceGather{windows}, points * weight_columns(shape));
  }
  SourceLinear linear;
  linear.weight = transpose(layer.parameter("weight"), weight_rows(shape), weight_columns(shape));
  linear.bias = options_.bias ? layer.parameter("bias")
                              : std::vector<float>(static_cast<std::size_t>(shape.outputs), 0.0F);
  layer.append(std::move(linear), points * shape.outputs, points);
  layer.append_activation(options_.activation);
  return true;
}

}  // namespace mylos
