// TokenSampler: where the windows of tokens that a run sees begin, as a pure function of the seed.
//
// A position counts the windows consumed since the run began, over all ranks: sample j of step s is at
// position s * batch + j. Ranks and threads do not enter, and nothing has to be restored but the position.
//
// A window is `context` tokens and the one behind them. window = "random": it begins anywhere, each start as
// likely as any other. window = "sequential": windows in the file's order, one behind the other, again from
// the front when they are used up. An epoch is as many windows as lie one behind the other in the tokens; a
// batch at its end goes on in the next epoch.
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
  /// Throws Error (bad_input) when the tokens hold no window, or fewer than a batch.
  explicit TokenSampler(const TokenSamplerOptions& options);

  [[nodiscard]] const TokenSamplerOptions& options() const { return options_; }
  [[nodiscard]] Epochs epochs() const { return {windows_, options_.batch}; }

  /// The first token of the window at `position`, in [0, tokens - context).
  [[nodiscard]] std::int64_t first_token(std::int64_t position) const;

 private:
  TokenSamplerOptions options_;
  RandomStream stream_;
  std::int64_t windows_ = 0;  // that lie one behind the other
};

}  // namespace mylos
