#include "mylos/model/layers/branch/chain_branch.hpp"
#include "mylos/model/onnx/onnx_layer.hpp"

namespace mylos {

bool ChainBranch::write_onnx(OnnxLayer& layer) const {
  layer.give(layer.skip_as_it_is());
  return true;
}

}  // namespace mylos
