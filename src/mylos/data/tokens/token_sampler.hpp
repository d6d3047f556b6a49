// TokenSampler: the start positions of a run's token windows, as a pure function of the seed.
//
// A position counts the windows consumed since the start of the run, over all ranks: sample j of step s is at
// position s * batch + j. The result does not depend on ranks or threads, and a restart restores only the
// position.
//
// A window is `context` tokens and the next one. window = "random": all start positions have equal
// probability. window = "sequential": consecutive windows in file order, again from the beginning after the
// last one. An epoch is the number of consecutive windows in the tokens; its last batch is filled from the
// next epoch.
#pragma once

#include <cstdint>

#include "mylos/base/numbers/random.hpp"
#include "mylos/data/feed/epochs.hpp"
#include "mylos/data/options.hpp"

namespace mylos {

struct TokenSamplerOptions {
  std::int64_t tokens = 0;  // of the training part
  std::int64_t context = 0;
  std::int64_t batch = 0;  // windows per step, over all ranks
  std::uint64_t seed = 1;
  WindowOrder window = WindowOrder::random;
};

class TokenSampler {
 public:
  /// Throws Error (bad_input) if the tokens hold no window, or fewer windows than a batch.
  explicit TokenSampler(const TokenSamplerOptions& options);

  [[nodiscard]] const TokenSamplerOptions& options() const { return options_; }
  [[nodiscard]] Epochs epochs() const { return {windows_, options_.batch}; }

  /// Returns the first token of the window at `position`, in [0, tokens - context).
  [[nodiscard]] std::int64_t first_token(std::int64_t position) const;

 private:
  TokenSamplerOptions options_;
  RandomStream stream_;
  std::int64_t windows_ = 0;  // number of consecutive windows
};

}  // namespace mylos
