// Type advice: in which type and with which recomputation a deck is best run here, by trials of all of them,
// and the deck that says so.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "mylos/train/adapt/type_choice.hpp"
#include "mylos/train/plan/memory_statement.hpp"

namespace mylos {

/// fp32, bf16 and fp16, each with the fastest recomputation that fits and with all of it, and as the deck
/// says where that is neither.
[[nodiscard]] std::vector<TrialSetting> settings_to_try(const Options& deck);

struct TypeAdvice {
  std::size_t chosen = 0;            // index of the result
  std::string verdict;               // a sentence: what to take, and why
  std::vector<std::string> reasons;  // sentences: what speaks for it, and against each other type
};

/// Of the results of settings_to_try(). Recomputation costs time, so types are judged by what needs least of
/// it. `steps`: that were compared. Throws Error (does_not_fit) with the first obstacle where nothing ran.
[[nodiscard]] TypeAdvice advise(const std::vector<TrialResult>& results, const TypeChoiceRule& rule,
                                std::int64_t steps);

/// Half of the range of the rounds' times, as a share of their median.
[[nodiscard]] double spread_of(const TrialResult& result);

/// Two digits: "0.0012 %", "34 %", "340 %"; with `plus`: "+34 %".
[[nodiscard]] std::string percent(double share, bool plus = false);

/// `deck` as advised, which precision.adapt does not choose again, for a run with a folder of its own: the
/// deck's, and "-advised" behind it. Its recomputation changes only where it costs at least `rule.least_gain`
/// of a step, or does not fit.
[[nodiscard]] Options advised_options(const Options& deck, const std::vector<TrialResult>& results,
                                      std::size_t chosen, const TypeChoiceRule& rule);

/// The largest micro-batch, up to `most`, of a run that fits the budget and makes a step of one of them per
/// rank, whatever the deck's batch; 0: none.
[[nodiscard]] std::int64_t max_micro_batch(const MemoryProblem& problem, std::int64_t most);

}  // namespace mylos
