// The kinds of data that networks learn from.
#pragma once

#include <array>

#include "mylos/data/run/run_data.hpp"

namespace mylos {

struct DataKind {
  const char* name;      // "labelled samples"
  const char* learner;   // the model.type that messages name
  const char* prepared;  // the subcommand of `mylos prepare` that writes such files
  /// Whether the file is of this kind. Throws Error (bad_input) if it cannot be opened.
  bool (*holds)(const std::string& path);
  bool (*feeds)(ModelType type);
  std::unique_ptr<RunData> (*open)(const Options& options, GroundTruth truth, const Places& places);
};

// Functions: Clang copies constants of namespaces to the device, and these point to functions of the host.
[[nodiscard]] DataKind token_windows();
[[nodiscard]] DataKind labelled_samples();
[[nodiscard]] DataKind array_samples();  // of decks with [data.arrays], whatever the files are

/// In the order in which they inspect a file of a deck without [data.arrays]; the last takes any.
[[nodiscard]] inline std::array<DataKind, 2> data_kinds() {
  return {token_windows(), labelled_samples()};
}

}  // namespace mylos
