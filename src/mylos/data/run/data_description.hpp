// DataDescription: what the data of a run state about themselves.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mylos/data/files/sample_meaning.hpp"
#include "mylos/data/files/vocabulary.hpp"
#include "mylos/data/run/data_part.hpp"
#include "mylos/model/options.hpp"

namespace mylos {

class DataDescription {
 public:
  virtual ~DataDescription() = default;

  /// Returns the path of the training file.
  [[nodiscard]] virtual const std::string& path() const = 0;
  /// Sets the model's inputs, outputs or vocabulary from the data; from inputs alone, not the outputs. Throws
  /// Error (bad_input) if deck and data differ, or if the model cannot learn from such data.
  virtual void complete(ModelOptions& model) const = 0;
  /// Returns a digest of the file that holds the part, "" if there is none; a restart with other data is
  /// refused.
  [[nodiscard]] virtual std::string identity(DataPart part) const = 0;
  /// Returns the meaning of the tokens; nothing if the data are not tokens.
  [[nodiscard]] virtual std::optional<Vocabulary> vocabulary() const { return std::nullopt; }
  /// Returns the training file's description of its samples, apart from sizes; empty for tokens.
  [[nodiscard]] virtual SampleMeaning meaning() const { return {}; }
  /// Returns remarks on the combination of files, one per line.
  [[nodiscard]] virtual std::vector<std::string> notes() const { return {}; }
};

}  // namespace mylos
