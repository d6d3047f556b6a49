// RunEvaluations: the parts of the data by which a run is judged while it goes on: when, and what came of it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mylos/train/evaluation.hpp"
#include "mylos/train/evaluation_rows.hpp"
#include "mylos/train/run_data.hpp"
#include "mylos/train/run_position.hpp"

namespace mylos {

class RunEvaluations {
 public:
  /// `every`: steps; 0 = each epoch. `data` must outlive this object.
  RunEvaluations(const RunData& data, const Normalizer& normalizer, const EvaluationOptions& options,
                 std::int64_t every);

  [[nodiscard]] bool due(const RunPosition& position) const;
  /// All ranks. A row for each part, of which `note` hears too.
  [[nodiscard]] std::vector<EvaluationRow> evaluate(const InferenceContext& context,
                                                    Communicator& communicator, const RunPosition& position,
                                                    const std::function<void(const std::string&)>& note);
  /// Seconds of the longest one, all parts together.
  [[nodiscard]] double longest_s() const { return longest_s_; }

  struct Part {
    DataPart part = DataPart::validation;
    std::unique_ptr<EvaluationPass> pass;
    std::string last;  // of the last evaluation; "": there was none
  };
  [[nodiscard]] const std::vector<Part>& parts() const { return parts_; }

 private:
  std::vector<Part> parts_;
  std::int64_t every_;
  double longest_s_ = 0;
};

}  // namespace mylos
