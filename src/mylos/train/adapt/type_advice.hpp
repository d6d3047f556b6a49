// Type advice: recommends the compute type and the recomputation of a deck on this machine, from trials of
// all of them, and writes the recommended deck.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "mylos/train/adapt/type_choice.hpp"
#include "mylos/train/plan/memory_statement.hpp"

namespace mylos {

/// Returns fp32, bf16 and fp16, each with the fastest recomputation that fits, with full recomputation, and
/// with the deck's recomputation if it is neither.
[[nodiscard]] std::vector<TrialSetting> settings_to_try(const Options& deck);

struct TypeAdvice {
  std::size_t chosen = 0;            // index of the result
  std::string verdict;               // a sentence: the choice and its reason
  std::vector<std::string> reasons;  // sentences: arguments for the choice, and against each other type
};

/// Returns advice from the results of settings_to_try(). Recomputation costs time, so types are compared by
/// the setting that needs least of it. `steps`: number of compared steps. Throws Error (does_not_fit) with
/// the first obstacle if nothing ran.
[[nodiscard]] TypeAdvice advise(const std::vector<TrialResult>& results, const TypeChoiceRule& rule,
                                std::int64_t steps);

/// Returns half of the range of the rounds' times as a fraction of their median.
[[nodiscard]] double spread_of(const TrialResult& result);

/// Formats a fraction with two digits: "0.0012 %", "34 %", "340 %"; with `plus`: "+34 %".
[[nodiscard]] std::string percent(double share, bool plus = false);

/// Returns `deck` with the recommended settings, so that precision.adapt chooses no type again. The run gets
/// a separate folder: the deck's with "-advised" appended. The deck's recomputation is replaced only if it
/// costs at least `rule.least_gain` of a step, or does not fit.
[[nodiscard]] Options advised_options(const Options& deck, const std::vector<TrialResult>& results,
                                      std::size_t chosen, const TypeChoiceRule& rule);

/// Returns the largest micro-batch, at most `most`, with which a run fits the budget if each step has one
/// micro-batch per rank; 0 if there is none. Ignores the deck's batch.
[[nodiscard]] std::int64_t max_micro_batch(const MemoryProblem& problem, std::int64_t most);

}  // namespace mylos
