// SampleMeaning: what training data say of their samples beyond the sizes, and whether other data say the
// same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mylos/data/files/dataset.hpp"

namespace mylos {

/// Empty where the training data do not say it.
struct SampleMeaning {
  std::string data = {};                     // whose samples, for messages
  std::vector<std::int64_t> grid = {};       // Dataset::grid()
  std::vector<std::int64_t> deck_grid = {};  // data.shape, which goes before it
  std::vector<std::string> class_names = {};
  std::string file = {};  // that has the names
  std::vector<std::string> input_names = {};
  std::vector<std::string> target_names = {};
};

/// Of a training file.
[[nodiscard]] SampleMeaning meaning_of(const Dataset& train, const std::vector<std::int64_t>& deck_grid = {});

/// Throws Error (bad_input) where `other`, of the same sizes, says otherwise: its points would stand
/// elsewhere than those that the network is trained on, or its labels mean other classes. A grid of the deck
/// with another number of extents is another view of the same numbers, and says nothing of other files.
void require_same_meaning(const SampleMeaning& trained, const Dataset& other);

/// Makes `other`, of the same sizes, read its inputs and targets in the order in which the training data have
/// them, by their names. Returns lines for the user: which were in another order, and which have no names
/// there. Throws Error (bad_input) where the names are others.
std::vector<std::string> match_columns(const SampleMeaning& trained, Dataset& other);

/// Throws unless `other` (test data) fits a network that is trained on `train`, in sizes and meaning.
/// `deck_grid`: data.shape of the deck, if any.
void require_same_shape(const Dataset& train, const Dataset& other,
                        const std::vector<std::int64_t>& deck_grid = {});

}  // namespace mylos
