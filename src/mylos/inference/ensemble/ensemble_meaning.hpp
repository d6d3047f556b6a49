// What the members of an ensemble must have in common: the network, apart from its weights; the data that it
// was trained on; the meaning of its inputs and outputs; and the scaling of its targets.
#pragma once

#include <string>
#include <vector>

#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/config/options.hpp"
#include "mylos/data/files/normalizer.hpp"

namespace mylos {

/// What a checkpoint or model file says of a member.
struct MemberMeaning {
  std::string path;
  Options options;       // of the run's deck
  std::string identity;  // of the training data
  ColumnScaling targets;
  std::vector<std::string> input_names;
  std::vector<std::string> target_names;
  std::vector<std::string> class_names;
};

/// All ranks. Reads it without the data and the weights.
[[nodiscard]] MemberMeaning read_member_meaning(const CheckpointReader& reader);

/// Throws Error (bad_input), whose message says in what `member` differs from `first`: model_mismatch for
/// another network, data_mismatch for other data or another scaling of the targets, bad_names for other
/// names. Dropout and what only training reads may differ: seeds, initial values, optimizer, precision.
void require_same_meaning(const MemberMeaning& first, const MemberMeaning& member);

}  // namespace mylos
