#include "commands/rollout_networks.hpp"

#include "commands/uncertain_model.hpp"
#include "launch/start.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/inference/stored/network_state.hpp"
#include "mylos/inference/stored/other_grid.hpp"

namespace mylos::app {
namespace {

/// Makes the network's dropout masks those of a seed; -1: of the run's.
void set_masks(StoredNetwork& network, std::int64_t seed) {
  require_dropout(network);
  if (seed < 0) return;
  network.options.run.seed = static_cast<std::uint64_t>(seed);
  set_chain(network);
}

}  // namespace

std::unique_ptr<RowInference> rows_of(const OpenModel& shared, const StoredNetwork& network,
                                      InferenceModel& model) {
  const ArrayOptions& arrays = network.options.data.arrays;
  InferenceContext context(*shared.execution, *shared.engines, model.passes(), network.known_classes());
  shared.share_samples(context);
  const bool is_divided = shared.exchange != nullptr;
  return std::make_unique<RowInference>(context,
                                        is_divided ? *shared.normalizer : network.training.normalizer,
                                        arrays.any_may_be_missing(arrays.inputs));
}

std::vector<std::unique_ptr<RowInference>> RolloutNetworks::rows() const {
  std::vector<std::unique_ptr<RowInference>> all;
  all.push_back(rows_of(*first, first->network(), *first->model));
  for (const auto& other : others) all.push_back(rows_of(*first, other->opened.network, *other->model));
  return all;
}

RolloutNetworks open_networks(const RolloutArguments& arguments,
                              const std::function<void(const StoredNetwork&)>& check) {
  RolloutNetworks networks;
  std::vector<EnsembleMember>& members = networks.members;
  if (arguments.ensemble) {
    members = members_of(ranks_of_start(), arguments.run, arguments.more);
    require_ensemble(ranks_of_start(), members);
  }
  std::vector<std::int64_t> shape;
  const auto open = [&](const CheckpointReader& reader) {
    OpenedNetwork opened{read_stored_network(reader)};
    if (networks.starts == nullptr) networks.weights = stored_point_weights(reader);
    run_on_all(reader.ranks(), [&] {
      if (networks.starts == nullptr) {
        check(opened.network);
        if (members.size() > 1 || arguments.dropout_masks > 0) require_averages(opened.network);
        if (arguments.dropout_masks > 0) set_masks(opened.network, arguments.seed);
        networks.starts = open_starts(opened.network, arguments.start);
        shape = shape_of_samples(opened.network, *networks.starts);
      }
      move_to_grid(opened.network, shape);
      if (divides(arguments.mesh))
        opened.divided = divide_network(opened.network, arguments.mesh, reader.ranks(), false);
    });
    return opened;
  };
  networks.first = open_model(arguments.run, open);
  RankGroup& ranks = networks.first->communicator->ranks();
  for (std::size_t i = 1; i < members.size(); ++i) {
    const CheckpointReader reader(ranks, members[i].path, ReadableKinds::all);
    require_average(reader, arguments.run);
    auto other = std::make_unique<RolloutNetworks::Other>(RolloutNetworks::Other{open(reader), nullptr});
    other->model = load_model(reader, other->opened, *networks.first->engines, members[i].average,
                              networks.first->model->samples());
    networks.others.push_back(std::move(other));
  }
  return networks;
}

}  // namespace mylos::app
