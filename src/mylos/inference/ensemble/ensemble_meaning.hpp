// What the members of an ensemble must have in common: the network, apart from its weights; the data that it
// was trained on; the meaning of its inputs and outputs; and the scaling of its targets.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "mylos/inference/stored/stored_network.hpp"

namespace mylos {

/// Returns the index of the first path that leads to the same file as one before it; nothing if none does.
[[nodiscard]] std::optional<std::size_t> repeated_file(const std::vector<std::string>& paths);

/// Throws Error (bad_input, bad_names), whose message says which names of `member` are not those of `first`.
/// Names that one of the files does not say are not compared.
void require_same_names(const StoredNetwork& first, const StoredNetwork& member);

/// Throws Error (bad_input), whose message says in what `member` differs from `first`: model_mismatch for
/// another network, data_mismatch for other data or another scaling of the targets, bad_names for other
/// names. Dropout and what only training reads may differ: seeds, initial values, optimizer, precision.
/// Compares what the files state, without sizes.
void require_same_meaning(const StoredNetwork& first, const StoredNetwork& member);

}  // namespace mylos
