// RunData: the data of a run's deck, whether labelled samples or windows of tokens.
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

/// Who reads training batches, and from where on.
struct TrainingReader {
  DType type = DType::fp32;      // of inputs; tokens are int32
  std::int64_t micro_batch = 0;  // most samples of a batch; 0 = the rank's whole share
  int rank = 0;
  int ranks = 1;
  int ranks_on_node = 1;
  std::int64_t first_position = 0;  // samples consumed before
};

/// A part of the data.
enum class DataPart { train, validation, test };

/// Those that judge a run while it goes on, where there are such, in the order in which they do.
inline constexpr DataPart judging_parts[] = {DataPart::validation, DataPart::test};

class RunData {
 public:
  virtual ~RunData() = default;

  /// Of the training file.
  [[nodiscard]] virtual const std::string& path() const = 0;
  /// Sets the model's inputs, outputs or vocabulary from the data; of inputs alone, not the outputs. Throws
  /// Error (bad_input) where deck and data differ, or the data are not what the model learns from.
  virtual void complete(ModelOptions& model) const = 0;
  [[nodiscard]] virtual Epochs epochs() const = 0;
  /// A digest of the contents: a restart on other data is refused by it.
  [[nodiscard]] virtual std::string identity() const = 0;
  /// The same of the test data; "" where there are none.
  [[nodiscard]] virtual std::string test_identity() const = 0;
  /// From the statistics of the training samples, without those that are held out. `note` hears of columns
  /// that are constant in them.
  [[nodiscard]] virtual Normalizer normalizer(const std::function<void(const std::string&)>& note) const = 0;
  /// Of that size: a restart goes on with what the checkpoint holds.
  [[nodiscard]] virtual Normalizer room_for_normalizer() const = 0;
  /// What tokens stand for; nothing where the data are no tokens.
  [[nodiscard]] virtual std::optional<Vocabulary> vocabulary() const = 0;

  /// What the training file says of its samples beyond their sizes; nothing of tokens.
  [[nodiscard]] virtual SampleMeaning meaning() const { return {}; }
  /// Makes the training file's columns come in the order in which those of `trained` do, as match_columns()
  /// does for a file alone, and returns its lines.
  virtual std::vector<std::string> match_columns(const SampleMeaning& /*trained*/) { return {}; }
  /// What there is to say of the files beside each other, a line each.
  [[nodiscard]] virtual std::vector<std::string> notes() const { return {}; }

  [[nodiscard]] virtual bool has(DataPart part) const = 0;
  /// Samples of a part that is there.
  [[nodiscard]] virtual std::int64_t samples(DataPart part) const = 0;

  /// This object must outlive what the next two return.
  [[nodiscard]] virtual std::unique_ptr<BatchReader> training_batches(const Normalizer& normalizer,
                                                                      const TrainingReader& reader) const = 0;
  /// Host memory that such a reader takes.
  [[nodiscard]] virtual std::int64_t reader_bytes(const TrainingReader& reader) const = 0;
  [[nodiscard]] virtual std::unique_ptr<EvaluationPass> pass_over(DataPart part, const Normalizer& normalizer,
                                                                  const EvaluationOptions& options) const = 0;
  /// Host memory that such a pass takes.
  [[nodiscard]] virtual std::int64_t pass_bytes(DataPart part, const EvaluationOptions& options) const = 0;
};

/// Opens the files that the deck names and checks them against each other and the deck. Throws Error
/// (bad_input). `answers`: of labelled samples; tokens always have theirs. `places`: of the deck.
[[nodiscard]] std::unique_ptr<RunData> open_run_data(const Options& options,
                                                     Answers answers = Answers::needed,
                                                     const Places& places = {});

/// "train", "validation", "test".
[[nodiscard]] const char* name_of(DataPart part);

}  // namespace mylos
