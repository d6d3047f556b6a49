#include "mylos/model/layers/join/gated_add.hpp"
#include "mylos/model/layers/join/join.hpp"
#include "mylos/model/source/source_layer.hpp"

namespace mylos {

bool Join::write_source(SourceLayer& layer) const {
  if (options_.join == JoinType::add) {
    layer.append(SourceAdd{layer.skip(), {}}, layer.width());
    return true;
  }
  layer.append(SourceConcat{layer.skip(), options_.skip_first},
               options_.points * (options_.channels + options_.skip_channels), options_.points);
  return true;
}

bool GatedAdd::write_source(SourceLayer& layer) const {
  layer.append(SourceAdd{layer.skip(), layer.parameter("weight")}, layer.width(), options_.grid.points());
  return true;
}

}  // namespace mylos
