// The output of `mylos advise`: a table of the measurements, the verdict, and the same for programs.
#pragma once

#include <string>
#include <vector>

#include "mylos/train/adapt/type_advice.hpp"

namespace mylos::app {

/// The search for the largest micro-batch ends here.
inline constexpr std::int64_t micro_batch_limit = std::int64_t{1} << 16;

struct AdviceReport {
  std::string run;  // its name
  std::int64_t parameters = 0;
  int ranks = 1;
  std::int64_t batch = 0;             // samples of a step, over all ranks
  std::int64_t tokens_of_sample = 0;  // 0: the data are no tokens
  std::int64_t steps = 0;             // that were compared
  int rounds = 0;
  std::string computed_by;  // instructions
  std::string energy_of;    // what the node of rank 0 counts; "": nothing
  std::vector<TrialResult> results = {};
  std::vector<std::int64_t> largest = {};  // micro-batch that fits, up to micro_batch_limit, of each
  TypeAdvice advice = {};
  TypeChoiceRule rule = {};
  std::string deck = {};  // the file that was written; empty: it could not be
};

[[nodiscard]] std::string advice_text(const AdviceReport& report);

/// {"format": "mylos-advice", "version": 1, …, "trials": [{"compute": "bf16", "recompute": "auto", "step_s":
/// […], …}, …], "advice": {"compute": …, "recompute": …, "verdict": …, "reasons": […]}, "deck": …}. Numbers
/// that are not finite become null.
[[nodiscard]] std::string advice_json(const AdviceReport& report);

/// The recomputation of a setting: "auto", "none", "all", "as the deck".
[[nodiscard]] std::string recompute_name(const TrialSetting& setting);

/// Joules of a step, median over the rounds; NaN if they were not counted.
[[nodiscard]] double step_joules(const TrialResult& result);

}  // namespace mylos::app
