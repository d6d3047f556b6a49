// The comments of exported source: where the network is from, its inputs and outputs, the deck.
#pragma once

#include "mylos/inference/stored/stored_network.hpp"
#include "mylos/interchange/source/source_export.hpp"

namespace mylos {

/// Returns the lines of the comment at the beginning of the file.
[[nodiscard]] std::vector<std::string> source_description(const CheckpointReader& checkpoint,
                                                          const StoredNetwork& network,
                                                          const SourceOptions& options);
/// Returns the lines of the comment at its end.
[[nodiscard]] std::vector<std::string> source_deck(const CheckpointReader& checkpoint);

}  // namespace mylos
