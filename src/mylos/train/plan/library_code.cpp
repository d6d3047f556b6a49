#include "mylos/train/plan/library_code.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "mylos/comm/ranks/mesh.hpp"
#include "mylos/data/feed/share.hpp"
#include "mylos/model/chain/chain_cost.hpp"
#include "mylos/train/evaluation/evaluation.hpp"

namespace mylos {
namespace {

/// Returns the distinct numbers of samples in the micro-batches of a rank.
std::vector<std::int64_t> micro_batch_sizes(const NetworkPlan& network, const RunData* data, int rank) {
  const std::int64_t micro_batch = network.step.micro_batch;
  std::set<std::int64_t> sizes;
  const auto add = [&](std::int64_t samples) {
    if (samples >= micro_batch) sizes.insert(micro_batch);
    if (samples % micro_batch > 0) sizes.insert(samples % micro_batch);
  };
  const Mesh mesh = network.mesh_of(rank);
  add(batch_share(network.options.data.batch, mesh.batch_rank(), mesh.batch_ranks()).count);
  const EvaluationOptions evaluation = evaluation_options(network, rank);
  for (const DataPart part : evaluated_parts(data)) add(evaluation.share(data->samples(part)).count);
  return {sizes.begin(), sizes.end()};
}

}  // namespace

PartMemory convolution_code(const NetworkPlan& network, const Engines& engines, const RunData* data) {
  std::size_t bytes = 0;
  if constexpr (memory_is_host) {  // a device's code is in the device's memory, and not planned
    for (const int rank : {0, network.ranks - 1})
      bytes = std::max(bytes, convolution_code_bytes(network.training_chain(), engines,
                                                     micro_batch_sizes(network, data, rank)));
  }
  return {{"code of convolutions", bytes, false}};
}

}  // namespace mylos
