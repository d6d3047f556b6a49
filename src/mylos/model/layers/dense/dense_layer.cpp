#include <algorithm>

#include "mylos/base/errors/datasets.hpp"
#include "mylos/model/chain/growing_chain.hpp"
#include "mylos/model/layers/dense/dense.hpp"

namespace mylos {

void kinds::Dense::append_to(GrowingChain& network, const LayerOptions& layer) const {
  DenseOptions options;
  options.inputs = network.input().grid.columns();
  options.outputs = network.outputs_or_targets(layer.outputs);
  if (options.inputs > max_numbers / std::max<std::int64_t>(1, options.outputs)) {
    network.refuse(errors::too_large,
                   "has {} weights for each of {} outputs: more than the {} that a matrix may have",
                   options.inputs, options.outputs, max_numbers);
  }
  network.set_product(options, layer, "linear");
  const std::int64_t outputs = options.outputs;
  network.append(std::make_unique<mylos::Dense>(std::move(options)), {.channels = outputs}, 0);
}

}  // namespace mylos
