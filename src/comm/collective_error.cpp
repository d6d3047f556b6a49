#include "mylos/comm/collective_error.hpp"

#include <cstdint>
#include <vector>

#include "mylos/base/hash.hpp"

namespace mylos {
namespace {

struct Status {
  std::int32_t code = 0;  // 0 = well
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
  throw Error(code, same ? cause : fmt::format("rank {}: {}", lowest, cause));
}

void run_on_all(RankGroup& ranks, const std::function<void()>& function) {
  std::optional<Error> own;
  try {
    function();
  } catch (const Error& error) {
    own = error;
  } catch (const std::exception& error) {
    own = Error(ExitCode::failed, error.what());
  }
  throw_if_any(ranks, own);
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
