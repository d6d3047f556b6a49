// The kinds of data that networks learn from.
#pragma once

#include "mylos/data/run/run_data.hpp"

namespace mylos {

struct DataKind {
  const char* name;      // "labelled samples"
  const char* learner;   // the model.type that messages name
  const char* prepared;  // the subcommand of `mylos prepare` that writes such files
  /// Whether the file is of this kind. Throws Error (bad_input) if it cannot be opened.
  bool (*holds)(const std::string& path);
  bool (*feeds)(ModelType type);
  std::unique_ptr<RunData> (*open)(const Options& options, Answers answers, const Places& places);
};

extern const DataKind token_windows;
extern const DataKind labelled_samples;
extern const DataKind array_samples;  // of decks with [data.arrays], whatever the files are

/// In the order in which they inspect a file of a deck without [data.arrays]; the last takes any.
inline constexpr const DataKind* data_kinds[] = {&token_windows, &labelled_samples};

}  // namespace mylos
