// RunEvaluations: the parts of the data by which a run is judged while it goes on: when, and what came of it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mylos/data/run/run_data.hpp"
#include "mylos/train/evaluation/evaluation.hpp"
#include "mylos/train/evaluation/evaluation_rows.hpp"
#include "mylos/train/run/run_position.hpp"

namespace mylos {

class RunEvaluations {
 public:
  /// `data` must outlive this object.
  RunEvaluations(const RunData& data, const Normalizer& normalizer, const EvaluationOptions& options,
                 const RunOptions& run);

  [[nodiscard]] bool due(const RunPosition& position) const;
  /// All ranks. A row for each part, of which `note` hears too.
  [[nodiscard]] std::vector<EvaluationRow> evaluate(const InferenceContext& context,
                                                    Communicator& communicator, const RunPosition& position,
                                                    const std::function<void(const std::string&)>& note);
  /// Whether the last evaluation has a confusion matrix.
  [[nodiscard]] bool has_confusion() const { return !parts_.empty() && parts_.front().confusion.has_value(); }
  /// Those of the last evaluation, after this step. Throws Error where it cannot be written.
  void write_confusion(const std::string& path, std::int64_t step) const;
  /// Likewise of the R2 of each target.
  [[nodiscard]] bool has_r2() const { return !parts_.empty() && !parts_.front().r2.empty(); }
  void write_r2(const std::string& path, std::int64_t step) const;
  /// Seconds of the longest one, all parts together.
  [[nodiscard]] double longest_s() const { return longest_s_; }

  struct Part {
    DataPart part = DataPart::validation;
    std::unique_ptr<EvaluationPass> pass;
    std::string last;  // of the last evaluation; "": there was none
    std::optional<ClassMeasures> confusion = {};
    std::vector<double> r2 = {};  // of each target
  };
  [[nodiscard]] const std::vector<Part>& parts() const { return parts_; }
  /// What the training data say of their samples.
  [[nodiscard]] const SampleMeaning& meaning() const { return meaning_; }

 private:
  std::vector<Part> parts_;
  SampleMeaning meaning_;
  std::vector<Measure> measures_;
  std::int64_t every_;  // steps; 0 = each epoch
  double longest_s_ = 0;
};

}  // namespace mylos
