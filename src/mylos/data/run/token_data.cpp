#include "mylos/base/error.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/data/run/data_kinds.hpp"
#include "mylos/data/run/data_paths.hpp"
#include "mylos/data/tokens/token_evaluation_reader.hpp"
#include "mylos/data/tokens/token_loader.hpp"

namespace mylos {
namespace {

/// Windows of tokens lie in one file.
std::string only_file(const DataFiles& files) {
  std::vector<std::string> paths = prepared_files(files);
  if (paths.size() == 1) return paths.front();
  fail_input(errors::bad_value, "{}: are {} files, but tokens are read from one; name one", files.text(),
             paths.size());
}

class TokenData final : public RunData {
 public:
  explicit TokenData(const Options& options)
      : context_(options.model.context),
        train_(only_file(options.data.train)),
        splits_(split_tokens(train_, options.data.validation, context_)),
        sampler_({.tokens = splits_.train.count,
                  .context = context_,
                  .batch = options.data.batch,
                  .seed = options.run.seed,
                  .window = options.data.window}) {
    if (options.data.normalize != Normalize::none) {
      fail_input(errors::key_without_effect,
                 "data.normalize: {} holds tokens, which are not normalised; remove the key", path());
    }
    if (options.data.test.empty()) return;
    test_.emplace(only_file(options.data.test));
    require_same_vocabulary(train_, *test_);
    require_window(*test_, {0, test_->tokens()}, context_, "test");
    test_->require_valid_values();
  }

  [[nodiscard]] const std::string& path() const override { return train_.path(); }

  void complete(ModelOptions& model) const override {
    const std::int64_t of_data = train_.vocabulary().size();
    if (model.vocabulary == 0) model.vocabulary = of_data;
    if (model.vocabulary < of_data) {
      fail_input(
          errors::data_mismatch,
          "{}: has a vocabulary of {} tokens, but the deck has model.vocabulary = {}; raise it to at least "
          "{} or remove the key",
          path(), of_data, model.vocabulary, of_data);
    }
  }

  [[nodiscard]] Epochs epochs() const override { return sampler_.epochs(); }
  [[nodiscard]] std::string identity(DataPart part) const override {
    if (part != DataPart::test) return train_.identity();
    return test_ ? test_->identity() : "";
  }
  [[nodiscard]] std::optional<Vocabulary> vocabulary() const override { return train_.vocabulary(); }

  [[nodiscard]] bool has(DataPart part) const override {
    return part == DataPart::train || (part == DataPart::test && test_) ||
           (part == DataPart::validation && splits_.validation.count > 0);
  }
  [[nodiscard]] std::int64_t samples(DataPart part) const override {
    return windows_in(split_of(part).count, context_);
  }

  [[nodiscard]] std::unique_ptr<BatchReader> training_batches(const Normalizer&,
                                                              const TrainingReader& reader) const override {
    return std::make_unique<TokenLoader>(train_, splits_.train, sampler_, loading(reader));
  }
  [[nodiscard]] std::int64_t reader_bytes(const TrainingReader& reader) const override {
    return TokenLoader::memory_bytes(train_, splits_.train, sampler_, loading(reader)) +
           train_.reading_bytes();
  }
  [[nodiscard]] std::unique_ptr<EvaluationPass> pass_over(DataPart part, const Normalizer&,
                                                          const EvaluationOptions& options) const override {
    return std::make_unique<TokenEvaluationReader>(part == DataPart::test ? *test_ : train_, split_of(part),
                                                   context_, options);
  }
  [[nodiscard]] std::int64_t pass_bytes(DataPart part, const EvaluationOptions& options) const override {
    const TokenDataset& data = part == DataPart::test ? *test_ : train_;
    const std::int64_t checking = part == DataPart::test ? data.reading_bytes() : 0;  // else the reader's
    return TokenEvaluationReader::memory_bytes(data, split_of(part), context_, options) + checking;
  }

 private:
  [[nodiscard]] Split split_of(DataPart part) const {
    if (part == DataPart::test) return {0, test_->tokens()};
    return part == DataPart::train ? splits_.train : splits_.validation;
  }
  [[nodiscard]] TokenLoaderOptions loading(const TrainingReader& reader) const {
    return {.micro_batch = reader.micro_batch,
            .rank = reader.rank,
            .ranks = reader.ranks,
            .first_position = reader.first_position,
            .in_memory = splits_.train.count * token_bytes(train_.type()) <= reader.token_bytes};
  }

  std::int64_t context_;
  TokenDataset train_;
  std::optional<TokenDataset> test_;
  Splits splits_;
  TokenSampler sampler_;
};

}  // namespace

DataKind token_windows() {
  return {.name = "tokens",
          .learner = "gpt",
          .prepared = "text",
          .holds = holds_tokens,
          .feeds = [](ModelType type) { return type == ModelType::gpt; },
          .open = [](const Options& options, GroundTruth, const Places&) -> std::unique_ptr<RunData> {
            return std::make_unique<TokenData>(options);
          }};
}

}  // namespace mylos
