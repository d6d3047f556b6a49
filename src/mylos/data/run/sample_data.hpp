// Labelled samples as the data of a run, from any kind of store.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mylos/data/arrays/array_store.hpp"
#include "mylos/data/files/sample_store.hpp"
#include "mylos/data/run/run_data.hpp"

namespace mylos {

struct SampleStores {
  std::shared_ptr<SampleStore> train = nullptr;
  std::shared_ptr<SampleStore> test = nullptr;     // null: none
  std::vector<std::string> notes = {};             // remarks on their files, one per line
  std::shared_ptr<ArrayStore> arrays = nullptr;    // `train`, if it reads arrays
  std::shared_ptr<ArrayStore> rollouts = nullptr;  // the same arrays in windows of several steps; null: none
};

/// Checks the stores against each other and against the deck. Throws Error (bad_input).
[[nodiscard]] std::unique_ptr<RunData> sample_data(const Options& options, SampleStores stores,
                                                   GroundTruth truth, const Places& places);

}  // namespace mylos
