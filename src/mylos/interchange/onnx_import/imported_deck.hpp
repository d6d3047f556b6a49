// The deck of an imported network: short, for its user to read and to train it further.
#pragma once

#include <string>

#include "mylos/config/options.hpp"
#include "mylos/interchange/onnx_import/onnx_import.hpp"

namespace mylos {

/// Returns the options of a run of the network: it computes in float, and its name is that of the file.
[[nodiscard]] Options imported_options(const ImportedNetwork& network, const std::string& checkpoint);

/// Returns the deck: the name, the shape of samples, the network and its type. `source`: the ONNX file,
/// `checkpoint`: the file with the weights, `deck`: the name of the deck, for the comment at its top.
[[nodiscard]] std::string imported_deck(const Options& options, const std::string& source,
                                        const std::string& checkpoint, const std::string& deck);

/// Returns whether a text begins as such a deck.
[[nodiscard]] bool is_imported_deck(const std::string& text);

}  // namespace mylos
