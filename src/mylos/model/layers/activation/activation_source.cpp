#include "mylos/model/layers/activation/activation_block.hpp"
#include "mylos/model/source/source_layer.hpp"

namespace mylos {

bool ActivationBlock::write_source(SourceLayer& layer) const {
  layer.append_activation(options_.activation);
  return true;
}

}  // namespace mylos
