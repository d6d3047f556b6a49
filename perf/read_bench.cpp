// read_bench DECK: reads all training samples of a deck with [data.arrays] once, in their order, as the
// loader does. Prints seconds and the number of values, of inputs and targets. perf/reading_study.py runs it.
#include <fmt/format.h>
#include <Kokkos_Core.hpp>

#include <algorithm>
#include <chrono>
#include <vector>

#include "mylos/config/deck.hpp"
#include "mylos/data/arrays/array_store.hpp"

int main(int argument_count, char** arguments) {
  using Clock = std::chrono::steady_clock;
  if (argument_count != 2) {
    fmt::print(stderr, "usage: read_bench DECK\n");
    return 2;
  }
  const Kokkos::ScopeGuard kokkos;  // the cache of levels lies in its memory
  try {
    const mylos::DataOptions options = mylos::read_deck(arguments[1]).data;
    const Clock::time_point begin = Clock::now();
    const auto store = mylos::open_array_store(options.train.names, options.arrays);
    const std::int64_t piece = std::max<std::int64_t>(1, store->block_samples());
    const auto room = [piece](std::int64_t columns) {
      return std::vector<float>(static_cast<std::size_t>(piece * columns));
    };
    std::vector<float> inputs = room(store->features());
    std::vector<float> targets = room(store->outputs());
    for (std::int64_t first = 0; first < store->samples(); first += piece) {
      const std::int64_t count = std::min(piece, store->samples() - first);
      store->read_inputs(first, count, inputs.data());
      store->read_targets(first, count, targets.data());
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    fmt::print("{} {}\n", seconds, store->samples() * (store->features() + store->outputs()));
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "read_bench: {}\n", error.what());
    return 1;
  }
}
