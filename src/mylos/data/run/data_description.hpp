// DataDescription: what the data of a run state about themselves.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mylos/data/arrays/array_store.hpp"
#include "mylos/data/files/meaning/sample_meaning.hpp"
#include "mylos/data/files/meaning/vocabulary.hpp"
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
  /// Returns which numbers of a sample for one application of the network count.
  [[nodiscard]] virtual SampleMask mask() const { return {}; }
  /// Returns the array of each channel of the targets; empty if the data are no arrays.
  [[nodiscard]] virtual std::vector<std::string> target_arrays() const { return {}; }
  /// Returns the store of arrays that a part belongs to; null if the data are no arrays as they lie in files.
  /// Its samples are those of the part train and validation together, or of the part test.
  [[nodiscard]] virtual std::shared_ptr<const ArrayStore> arrays(DataPart /*part*/) const { return nullptr; }
  /// Returns the channels of training samples and how outputs become inputs; nothing if the data are no
  /// arrays as they lie in files.
  [[nodiscard]] virtual std::optional<RolloutLayout> rollout() const { return std::nullopt; }
  /// Returns remarks on the combination of files, one per line.
  [[nodiscard]] virtual std::vector<std::string> notes() const { return {}; }
};

}  // namespace mylos
