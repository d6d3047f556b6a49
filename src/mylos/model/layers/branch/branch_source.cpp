#include "mylos/model/layers/branch/chain_branch.hpp"

namespace mylos {

bool ChainBranch::write_source(SourceLayer& layer) const {
  layer.give(layer.skip());
  return true;
}

}  // namespace mylos
