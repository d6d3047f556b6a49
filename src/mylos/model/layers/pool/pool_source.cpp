#include "mylos/model/layers/pool/pool_block.hpp"
#include "mylos/model/source/source_columns.hpp"
#include "mylos/model/source/source_layer.hpp"

namespace mylos {

bool PoolBlock::write_source(SourceLayer& layer) const {
  const PoolShape& shape = options_.shape;
  SourceWindows windows{.points = shape.input.points(),
                        .channels = shape.input.channels,
                        .count = output().points(),
                        .taps = shape.input.points()};
  if (options_.pool != PoolType::global_average) {
    if (!is_along_column(shape.input.extent) || !is_along_column(shape.window) ||
        !is_along_column(shape.padding, 0))
      return false;
    windows.taps = shape.window[2];
    windows.stride = shape.stride[2];
    windows.padding = shape.padding[2];
  }
  if (options_.pool == PoolType::max) {
    layer.append(SourceMaxPool{windows}, output().columns());
  } else {
    layer.append(SourceAveragePool{windows}, output().columns());
  }
  return true;
}

}  // namespace mylos
