// How the network and the scaling of data in a file of initial weights compare with those of the run.
#include <fmt/format.h>

#include "mylos/config/deck.hpp"
#include "mylos/train/start/initial_weights.hpp"

namespace mylos {

std::vector<TakenLayer> InitialWeights::taken_layers() const {
  std::vector<TakenLayer> layers;
  for (const Taken& taken : taken_) {
    const std::string there = file_.parameter_name(file_.entries()[taken.entry].name);
    TakenLayer layer{taken.path.substr(0, taken.path.rfind('/')), there.substr(0, there.rfind('/'))};
    if (layers.empty() || layers.back() != layer) layers.push_back(std::move(layer));
  }
  return layers;
}

/// What the file's deck says of the layers whose weights are taken, against this deck.
void InitialWeights::compare_networks(const Options& options, const Places& places) {
  std::vector<KeyDifference> differences;
  if (!file_.deck().empty()) {
    std::optional<Options> written;
    try {
      written = read_stored_deck(file_.deck(), file_.path()).options;
    } catch (const Error& error) {  // of a version that had other keys: its weights are what is asked for
      notes_.push_back(fmt::format("not compared with its deck, which cannot be read: {}", error.message()));
    }
    if (written) {
      scaling_.method = written->data.normalize;
      scaling_.differences = written->data.arrays.all_differences();
      differences = differing_networks(*written, scaling_.samples.grid, options, taken_layers());
    }
  }
  const std::vector<KeyDifference> ignored =
      require_same_network(differences, options.initial.ignore, file_.path(), places);
  for (const KeyDifference& difference : ignored) {
    notes_.push_back(fmt::format("initial.ignore: {} is {} here, and {} in the file", difference.key,
                                 difference.after, difference.before));
  }
}

GivenScalings InitialWeights::kept_scalings(const Options& options, const SampleMeaning& here,
                                            const Places& places) {
  require_same_directions(scaling_.samples.axes, fmt::format("the training data of {}", file_.path()),
                          here.axes, here.data);
  KeptScaling kept = kept_scaling(scaling_, options, here, taken_ends(options.model, taken_layers()), places);
  normalization_ = std::move(kept.line);
  return std::move(kept.given);
}

}  // namespace mylos
