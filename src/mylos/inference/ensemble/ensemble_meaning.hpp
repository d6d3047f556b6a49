// What the members of an ensemble must have in common: the network, apart from its weights; the data that it
// was trained on; the meaning of its inputs and outputs; and the scaling of its targets.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/config/options.hpp"
#include "mylos/data/files/normalizer.hpp"

namespace mylos {

/// The names that a file gives to what a member reads and computes; empty: it does not say them.
struct MemberNames {
  std::string path;
  std::vector<std::string> inputs;
  std::vector<std::string> targets;
  std::vector<std::string> classes;
};

/// What a checkpoint or model file says of a member.
struct MemberMeaning {
  MemberNames names;
  Options options;       // of the run's deck
  std::string identity;  // of the training data
  ColumnScaling targets;
};

/// Returns the place of the first path that leads to the same file as one before it; nothing if none does.
[[nodiscard]] std::optional<std::size_t> repeated_file(const std::vector<std::string>& paths);

/// Throws Error (bad_input, bad_names), whose message says which names of `member` are not those of `first`.
/// Names that one of the files does not say are not compared.
void require_same_names(const MemberNames& first, const MemberNames& member);

/// All ranks. Reads it without the data and the weights.
[[nodiscard]] MemberMeaning read_member_meaning(const CheckpointReader& reader);

/// Throws Error (bad_input), whose message says in what `member` differs from `first`: model_mismatch for
/// another network, data_mismatch for other data or another scaling of the targets, bad_names for other
/// names. Dropout and what only training reads may differ: seeds, initial values, optimizer, precision.
void require_same_meaning(const MemberMeaning& first, const MemberMeaning& member);

}  // namespace mylos
