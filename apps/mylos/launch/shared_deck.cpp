#include "launch/shared_deck.hpp"

#include "launch/start.hpp"
#include "mylos/comm/ranks/collective_error.hpp"

namespace mylos::app {

Deck read_shared_deck(RankGroup& ranks, const std::string& file, const std::vector<std::string>& overrides,
                      DeckReader* read) {
  std::string text;
  run_on_all(ranks, [&] {
    if (ranks.rank() == 0) text = read_deck_file(file);
  });
  text = broadcast_text(ranks, text);
  Deck deck;
  run_on_all(ranks, [&] { deck = read(text, file, overrides); });
  keep_deadline(deck.options.communication);
  return deck;
}

bool needs_these_threads(const Options& options) {
  const GemmChoice gemm = options.kernels.gemm;
  return options.run.reproducible && (gemm == GemmChoice::automatic || gemm == GemmChoice::onednn);
}

}  // namespace mylos::app
