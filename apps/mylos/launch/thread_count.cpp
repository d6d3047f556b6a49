#include "launch/thread_count.hpp"

#include <algorithm>
#include <string_view>

#include "mylos/base/device/threads.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/base/numbers/number_text.hpp"

namespace mylos::app {
namespace {

constexpr std::string_view blanks = " \t\r\n";

std::string_view words_of(const char* variable) {
  return trimmed(variable == nullptr ? "" : variable, blanks);
}

}  // namespace

bool asks_for_threads(int asked, const char* variable) {
  return asked > 0 || !words_of(variable).empty();
}

int thread_count(int asked, const char* variable, const CoreShare& share, int ranks) {
  if (asked > 0) return asked;
  const std::string_view said = words_of(variable);
  if (said.empty()) {
    int cores = share.cores / std::max({1, share.ranks, ranks});
    if (share.quota > 0) cores = std::min(cores, share.quota / std::max({1, share.ranks_of_quota, ranks}));
    return std::clamp(cores, 1, max_threads);
  }
  const std::string_view first = trimmed(said.substr(0, said.find(',')), blanks);
  const auto threads = to_number<int>(first);
  if (!threads || *threads < 1 || *threads > max_threads) {
    fail_input(errors::bad_argument,
               "OMP_NUM_THREADS is '{}'; expected a number of threads from 1 to {} (or a list that begins "
               "with one); run.threads overrides this variable",
               printable(said), max_threads);
  }
  return *threads;
}

}  // namespace mylos::app
