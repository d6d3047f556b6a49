#include "mylos/model/layers/branch/chain_branch.hpp"
#include "mylos/model/source/source_layer.hpp"

namespace mylos {

bool ChainBranch::write_source(SourceLayer& layer) const {
  layer.give(layer.skip());
  return true;
}

}  // namespace mylos
