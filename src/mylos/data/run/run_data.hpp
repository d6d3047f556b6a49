// RunData: the data of a run's deck, labelled samples or windows of tokens.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mylos/config/options.hpp"
#include "mylos/data/feed/batch_reader.hpp"
#include "mylos/data/feed/epochs.hpp"
#include "mylos/data/feed/evaluation_pass.hpp"
#include "mylos/data/files/dataset.hpp"
#include "mylos/data/files/normalizer.hpp"
#include "mylos/data/files/sample_meaning.hpp"
#include "mylos/data/files/vocabulary.hpp"

namespace mylos {

/// The options of a reader of training batches: the rank that reads, and its start position.
struct TrainingReader {
  DType type = DType::fp32;      // of inputs; tokens are int32
  std::int64_t micro_batch = 0;  // maximum samples per batch; 0 = the rank's complete local batch
  int rank = 0;
  int ranks = 1;
  int ranks_on_node = 1;
  std::int64_t first_position = 0;  // samples already consumed
};

/// A part of the data.
enum class DataPart { train, validation, test };

/// The parts that evaluations during a run use, if present, in this order.
inline constexpr DataPart judging_parts[] = {DataPart::validation, DataPart::test};

class RunData {
 public:
  virtual ~RunData() = default;

  /// Returns the path of the training file.
  [[nodiscard]] virtual const std::string& path() const = 0;
  /// Sets the model's inputs, outputs or vocabulary from the data; from inputs alone, not the outputs. Throws
  /// Error (bad_input) if deck and data differ, or if the model cannot learn from such data.
  virtual void complete(ModelOptions& model) const = 0;
  [[nodiscard]] virtual Epochs epochs() const = 0;
  /// Returns a digest of the contents; a restart with other data is refused.
  [[nodiscard]] virtual std::string identity() const = 0;
  /// Returns the digest of the test data; "" if there are none.
  [[nodiscard]] virtual std::string test_identity() const = 0;
  /// Computes the normalizer from the statistics of the training samples, without held-out ones. `note`
  /// receives a message about columns that are constant in them.
  [[nodiscard]] virtual Normalizer normalizer(const std::function<void(const std::string&)>& note) const = 0;
  /// Returns a normalizer of the same size: a restart reads its values from the checkpoint.
  [[nodiscard]] virtual Normalizer room_for_normalizer() const = 0;
  /// Returns the meaning of the tokens; nothing if the data are not tokens.
  [[nodiscard]] virtual std::optional<Vocabulary> vocabulary() const = 0;

  /// Returns the training file's description of its samples, apart from sizes; empty for tokens.
  [[nodiscard]] virtual SampleMeaning meaning() const { return {}; }
  /// Reorders the training file's columns to the order of `trained`, as match_columns() does for a single
  /// file, and returns its messages.
  virtual std::vector<std::string> match_columns(const SampleMeaning& /*trained*/) { return {}; }
  /// Returns remarks on the combination of files, one per line.
  [[nodiscard]] virtual std::vector<std::string> notes() const { return {}; }

  [[nodiscard]] virtual bool has(DataPart part) const = 0;
  /// Returns the number of samples of a part that exists.
  [[nodiscard]] virtual std::int64_t samples(DataPart part) const = 0;

  /// This object must outlive the results of the next two functions.
  [[nodiscard]] virtual std::unique_ptr<BatchReader> training_batches(const Normalizer& normalizer,
                                                                      const TrainingReader& reader) const = 0;
  /// Returns the host memory of such a reader in bytes.
  [[nodiscard]] virtual std::int64_t reader_bytes(const TrainingReader& reader) const = 0;
  [[nodiscard]] virtual std::unique_ptr<EvaluationPass> pass_over(DataPart part, const Normalizer& normalizer,
                                                                  const EvaluationOptions& options) const = 0;
  /// Returns the host memory of such a pass in bytes.
  [[nodiscard]] virtual std::int64_t pass_bytes(DataPart part, const EvaluationOptions& options) const = 0;
};

/// Opens the files that the deck names and checks them against each other and against the deck. Throws Error
/// (bad_input). `answers`: for labelled samples; tokens always have answers. `places`: positions of the
/// deck's keys.
[[nodiscard]] std::unique_ptr<RunData> open_run_data(const Options& options,
                                                     Answers answers = Answers::needed,
                                                     const Places& places = {});

/// Returns "train", "validation" or "test".
[[nodiscard]] const char* name_of(DataPart part);

}  // namespace mylos
