#include "mylos/model/layers/join/gated_add.hpp"
#include "mylos/model/layers/join/join.hpp"
#include "mylos/model/source/source_layer.hpp"

namespace mylos {

bool Join::write_source(SourceLayer& layer) const {
  if (options_.join == JoinType::add) {
    layer.append(SourceAdd{layer.skip(), {}}, layer.width());
    return true;
  }
  if (options_.points > 1) return false;
  layer.append(SourceConcat{layer.skip(), options_.skip_first}, options_.channels + options_.skip_channels);
  return true;
}

bool GatedAdd::write_source(SourceLayer& layer) const {
  if (options_.grid.points() > 1) return false;
  layer.append(SourceAdd{layer.skip(), layer.parameter("weight")}, layer.width());
  return true;
}

}  // namespace mylos
