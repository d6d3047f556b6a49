// Arrays as they lie in files, as the data of a run ([data.arrays]).
#include <fmt/ranges.h>

#include <utility>

#include "mylos/base/errors/samples.hpp"
#include "mylos/data/arrays/array_store.hpp"
#include "mylos/data/run/data_kinds.hpp"
#include "mylos/data/run/sample_data.hpp"

namespace mylos {
namespace {

/// The arrays have a grid of their own.
void require_own_grid(const ArrayStore& store, const std::vector<std::int64_t>& shape, const Places& places) {
  if (shape.empty() || shape == store.grid()) return;
  const std::string own =
      store.grid().empty() ? "no grid" : fmt::format("the grid [{}]", fmt::join(store.grid(), ", "));
  fail_input(errors::data_mismatch,
             "{}{}: its arrays have {}, but the deck has data.shape = [{}]; remove the key",
             place_of(places, {"data.shape"}), store.path(), own, fmt::join(shape, ", "));
}

std::unique_ptr<RunData> open_arrays(const Options& options, GroundTruth truth, const Places& places) {
  const DataOptions& data = options.data;
  SampleStores stores;
  const auto train = open_array_store(data.train.names, data.arrays, 1, truth);
  require_own_grid(*train, data.shape, places);
  stores.train = train;
  stores.arrays = train;
  if (options.rollout.steps > 1)
    stores.rollouts = open_array_store(data.train.names, data.arrays, options.rollout.steps, truth);
  if (!data.test.empty()) stores.test = open_array_store(data.test.names, data.arrays);
  return sample_data(options, std::move(stores), truth, places);
}

}  // namespace

DataKind array_samples() {
  return {.name = "arrays",
          .learner = "mlp",
          .prepared = "fields",
          .holds = [](const std::string&) { return true; },
          .feeds = [](ModelType type) { return type != ModelType::gpt; },
          .open = open_arrays};
}

}  // namespace mylos
