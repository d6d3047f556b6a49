#include "mylos/comm/ranks/collective_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <future>
#include <vector>

#include "mylos/base/numbers/hash.hpp"

namespace mylos {
namespace {

struct Status {
  std::int32_t code = 0;  // 0 = no error
  std::uint64_t length = 0;
  std::uint64_t hash = 0;
};

}  // namespace

void throw_if_any(RankGroup& ranks, const std::optional<Error>& own) {
  const std::string message = own ? own->what() : "";
  Status status;
  if (own) {
    status = {static_cast<std::int32_t>(own->code()), message.size(), hash_bytes(message)};
  }
  std::vector<Status> all(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(&status, all.data(), sizeof(Status));

  int failed = 0;
  bool same = true;
  int lowest = -1;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    const Status& other = all[static_cast<std::size_t>(rank)];
    same = same && other.code == all[0].code && other.length == all[0].length && other.hash == all[0].hash;
    if (other.code == 0) continue;
    ++failed;
    if (lowest < 0) lowest = rank;
  }
  if (failed == 0) return;
  const auto code = static_cast<ExitCode>(all[static_cast<std::size_t>(lowest)].code);
  const std::string cause = broadcast_text(ranks, message, lowest);
  const Error error = Error::of_text(code, cause);
  throw same ? error : error.with(fmt::format("rank {}: {}", lowest, error.message()));
}

namespace {

std::optional<Error> error_of(const std::function<void()>& function) {
  try {
    function();
  } catch (const std::exception& error) {
    return Error::of(error);
  }
  return std::nullopt;
}

constexpr double max_silence_s = 1;

/// Returns true as soon as the work has ended, false when it is time to report that it still runs.
bool ended_soon(std::future<std::optional<Error>>& work, double timeout_s) {
  const std::chrono::duration<double> silence(std::min(max_silence_s, timeout_s / 4));
  return work.wait_for(silence) == std::future_status::ready;
}

}  // namespace

void run_on_all(RankGroup& ranks, const std::function<void()>& function) {
  throw_if_any(ranks, error_of(function));
}

void run_on_each(RankGroup& ranks, const std::function<void()>& function) {
  if (ranks.size() == 1) return throw_if_any(ranks, error_of(function));
  std::future<std::optional<Error>> work =
      std::async(std::launch::async, [&function] { return error_of(function); });
  std::vector<char> ended(static_cast<std::size_t>(ranks.size()));
  while (std::find(ended.begin(), ended.end(), 0) != ended.end()) {
    const char own = ended_soon(work, ranks.timeout_s()) ? 1 : 0;
    ranks.all_gather(&own, ended.data(), sizeof own);
  }
  throw_if_any(ranks, work.get());
}

void run_on_first(RankGroup& ranks, const std::function<void()>& function) {
  if (ranks.size() == 1) return throw_if_any(ranks, error_of(function));
  std::future<std::optional<Error>> work;
  if (ranks.rank() == 0) work = std::async(std::launch::async, [&function] { return error_of(function); });
  for (char ended = 0; ended == 0;) {
    if (ranks.rank() == 0) ended = ended_soon(work, ranks.timeout_s()) ? 1 : 0;
    ranks.broadcast(&ended, sizeof ended, 0);
  }
  std::optional<Error> error;
  if (ranks.rank() == 0) error = work.get();
  std::int32_t code = error ? static_cast<std::int32_t>(error->code()) : 0;
  ranks.broadcast(&code, sizeof code, 0);
  if (code == 0) return;
  throw Error::of_text(static_cast<ExitCode>(code), broadcast_text(ranks, error ? error->what() : ""));
}

std::string broadcast_text(RankGroup& ranks, const std::string& text, int root) {
  std::uint64_t length = text.size();
  ranks.broadcast(&length, sizeof length, root);
  std::string result = text;
  result.resize(length);
  ranks.broadcast(result.data(), length, root);
  return result;
}

}  // namespace mylos
