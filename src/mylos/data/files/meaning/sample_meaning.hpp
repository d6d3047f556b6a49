// SampleMeaning: the description of training samples apart from their sizes, and a check that other data have
// the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mylos/base/device/memory_entry.hpp"
#include "mylos/data/files/sample_store.hpp"

namespace mylos {

/// Members are empty if the training data do not state them.
struct SampleMeaning {
  std::string data = {};                     // origin of the samples, for messages
  std::vector<std::int64_t> grid = {};       // SampleStore::grid()
  std::vector<std::int64_t> deck_grid = {};  // data.shape, which takes precedence
  GridAxes axes = {};                        // SampleStore::axes()
  LevelStep level_step = {};                 // SampleStore::level_step()
  std::vector<MaskSummary> masks = {};       // SampleStore::masks()
  std::vector<std::string> class_names = {};
  std::string file = {};  // the file that holds the names
  std::vector<std::string> input_names = {};
  std::vector<std::string> target_names = {};
};

/// Returns the memory of the names of classes and columns in the two copies that a run holds: that of its
/// evaluations, and that of a checkpoint.
[[nodiscard]] PartMemory name_memory(const SampleMeaning& meaning);

/// Returns the description in a training file.
[[nodiscard]] SampleMeaning meaning_of(const SampleStore& train,
                                       const std::vector<std::int64_t>& deck_grid = {});

/// Throws Error (bad_input) if `other`, of the same sizes, has another description: its points would differ
/// from those that the network was trained on, lie elsewhere (require_same_axes) or at
/// other distances in time (require_same_step), others would count (require_same_masks), or its labels would
/// mean other classes. A grid of the deck with another number of extents is another view of the same numbers
/// and does not constrain other files.
void require_same_meaning(const SampleMeaning& trained, const SampleStore& other);

/// Makes `other`, of the same sizes, read its inputs and targets in the order of the training data, by their
/// names. Returns lines for the user: the columns that were in another order, and those without names. Throws
/// Error (bad_input) if the names differ.
std::vector<std::string> match_columns(const SampleMeaning& trained, SampleStore& other);

/// Throws unless `other` (test data) fits a network trained on `train`, in sizes and meaning. `deck_grid`:
/// data.shape of the deck, if any.
void require_same_shape(const SampleStore& train, const SampleStore& other,
                        const std::vector<std::int64_t>& deck_grid = {});

}  // namespace mylos
