// RunEvaluations: when a run is evaluated, on which parts of the data, and with which results.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mylos/data/run/run_data.hpp"
#include "mylos/train/evaluation/evaluation.hpp"
#include "mylos/train/evaluation/evaluation_log.hpp"
#include "mylos/train/evaluation/rollout_evaluation.hpp"
#include "mylos/train/evaluation/sample_pictures.hpp"
#include "mylos/train/run/components/run_component.hpp"
#include "mylos/train/run/run_position.hpp"

namespace mylos {

class RunEvaluations final : public RunComponent {
 public:
  /// `file` is the path of evaluations.csv, or "" on all ranks but the first.
  RunEvaluations(std::string file, BestEvaluation best) : log_(std::move(file), std::move(best)) {}

  /// Opens the test data of rollouts. Called before the run takes memory, as the plan had it then.
  void open_rollouts(const Options& deck);
  /// Opens the parts of the data, which must outlive this object, as the normalizer must. `classes`: as in
  /// InferenceContext.
  void open(const RunData& data, const Normalizer& normalizer, const EvaluationOptions& options,
            const Options& deck, const Chain& chain, std::int64_t classes);

  [[nodiscard]] bool due(const RunPosition& position) const;
  bool wants_step(RunContext& run, const LastStep& step) override;
  /// All ranks. Evaluates every part, reports and records the results. Returns whether they are the best so
  /// far.
  [[nodiscard]] bool evaluate(const Quiesced& quiet, RunContext& run);
  /// Reports that the run's patience was over before this start.
  void finish(RunContext& run, const Quiesced& quiet) override;

  [[nodiscard]] EvaluationLog& log() { return log_; }
  [[nodiscard]] const BestEvaluation& best() const { return log_.best(); }
  /// Whether run.patience ends the run before its last step.
  [[nodiscard]] bool stopped_early(const RunPosition& position) const {
    return best().patience_is_over() && !position.at_end();
  }
  /// Returns the duration of the longest evaluation of all parts together.
  [[nodiscard]] double longest_s() const { return longest_s_; }

  struct Part {
    DataPart part = DataPart::validation;
    std::unique_ptr<EvaluationPass> pass;
    std::string last;  // result of the last evaluation; "": there was none
    std::optional<ClassMeasures> confusion = {};
    std::vector<double> r2 = {};                  // of each target
    std::unique_ptr<SamplePictures> chosen = {};  // of a network of fields
    std::vector<FieldPicture> pictures = {};      // of the last evaluation, on rank 0
  };
  [[nodiscard]] const std::vector<Part>& parts() const { return parts_; }
  /// Returns the names that the training data have for classes and columns.
  [[nodiscard]] const SampleMeaning& meaning() const { return meaning_; }

 private:
  [[nodiscard]] std::vector<EvaluationRow> evaluate_parts(const Quiesced& quiet, RunContext& run);
  [[nodiscard]] bool record(const Quiesced& quiet, RunContext& run, std::vector<EvaluationRow> rows);
  void write_confusion(const std::string& path, std::int64_t step) const;
  /// Measures the rollouts of the deck after the pass over the test data.
  void measure_rollouts(const Quiesced& quiet, RunContext& run, const InferenceContext& context,
                        EvaluationRow& row);
  void write_pictures(const std::string& path, std::int64_t step) const;
  void write_r2(const std::string& path, std::int64_t step) const;
  [[nodiscard]] bool has_confusion() const { return !parts_.empty() && parts_.front().confusion.has_value(); }
  [[nodiscard]] bool has_r2() const { return !parts_.empty() && !parts_.front().r2.empty(); }
  [[nodiscard]] std::string describe_early_stop() const;

  EvaluationLog log_;
  std::vector<Part> parts_;
  SampleMeaning meaning_;
  std::vector<Measure> measures_;
  std::optional<RolloutEvaluation> rollouts_;
  const Normalizer* normalizer_ = nullptr;  // of the run
  Normalizer of_box_;                       // of targets, if mesh.space divides samples
  std::optional<RolloutResult> rollout_;    // of the last evaluation
  std::int64_t classes_ = 0;
  std::int64_t every_ = 0;  // steps; 0 = each epoch
  double longest_s_ = 0;
};

}  // namespace mylos
