#include "mylos/comm/ranks/rank_group.hpp"

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstring>
#include <memory>
#include <thread>

#include "mylos/base/device/seconds_since.hpp"
#include "mylos/base/error.hpp"
#include "mylos/comm/ranks/poll_pause.hpp"

namespace mylos {
namespace {

using Clock = std::chrono::steady_clock;

/// Ranks may share cores: a waiting rank offers its core now and then, when it also reads the clock.
constexpr unsigned polls_per_yield = 16;
/// So many polls that took longer than this have moved data: the next ones will too.
constexpr std::chrono::microseconds time_of_moving_polls{100};

/// Between polls, `start` being the time of the first and `last` that of the last pause.
void offer_core(Clock::time_point start, Clock::time_point& last) {
  const auto now = Clock::now();
  const auto pause = pause_after(now - start);
  if (pause.count() > 0 && now - last < time_of_moving_polls) {
    std::this_thread::sleep_for(pause);
  } else {
    std::this_thread::yield();
  }
  last = Clock::now();
}

int mpi_count(std::size_t bytes) {
  if (bytes > INT_MAX)
    fail_run(ErrorId::too_large, "MPI cannot exchange {} bytes in one call; the limit is {}", bytes, INT_MAX);
  return static_cast<int>(bytes);
}

}  // namespace

RankGroup::RankGroup(MPI_Comm parent, double timeout_s) : timeout_s_(timeout_s) {
  check(MPI_Comm_dup(parent, &communicator_), "MPI_Comm_dup");
  check(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check(MPI_Comm_rank(communicator_, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(communicator_, &size_), "MPI_Comm_size");
}

RankGroup::~RankGroup() {
  if (communicator_ == MPI_COMM_NULL) return;
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0) return;
  if (has_abandoned()) {
    // MPI may still write to the exchange buffer: it has to outlive us.
    static_cast<void>(std::make_unique<std::vector<std::byte>>(std::move(exchange_)).release());
  } else if (!lost_) {
    // Not where a rank that came late may still send to it: Open MPI 4.1.4 then loses messages of others.
    MPI_Comm_free(&communicator_);
  }
}

NodePlace RankGroup::node_place() {
  if (size_ == 1) return {};
  MPI_Comm node = MPI_COMM_NULL;
  check(MPI_Comm_split_type(mpi(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node), "MPI_Comm_split_type");
  NodePlace place;
  check(MPI_Comm_size(node, &place.ranks), "MPI_Comm_size");
  check(MPI_Comm_rank(node, &place.index), "MPI_Comm_rank");
  MPI_Group of_node = MPI_GROUP_NULL;
  MPI_Group of_all = MPI_GROUP_NULL;
  check(MPI_Comm_group(node, &of_node), "MPI_Comm_group");
  check(MPI_Comm_group(mpi(), &of_all), "MPI_Comm_group");
  const int lowest = 0;
  check(MPI_Group_translate_ranks(of_node, 1, &lowest, of_all, &place.first), "MPI_Group_translate_ranks");
  check(MPI_Group_free(&of_node), "MPI_Group_free");
  check(MPI_Group_free(&of_all), "MPI_Group_free");
  check(MPI_Comm_free(&node), "MPI_Comm_free");
  return place;
}

void RankGroup::broadcast(void* data, std::size_t bytes, int root) {
  require_idle();
  if (size_ == 1) return;
  exchange_.resize(bytes);
  if (rank_ == root && bytes > 0) std::memcpy(exchange_.data(), data, bytes);
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Ibcast(exchange_.data(), mpi_count(bytes), MPI_BYTE, root, communicator_, &request), "broadcast");
  wait(request, "broadcast");
  if (bytes > 0) std::memcpy(data, exchange_.data(), bytes);
}

void RankGroup::all_gather(const void* own, void* all, std::size_t bytes) {
  require_idle();
  if (size_ == 1) {
    if (bytes > 0) std::memmove(all, own, bytes);
    return;
  }
  const std::size_t offset = static_cast<std::size_t>(rank_) * bytes;
  exchange_.resize(static_cast<std::size_t>(size_) * bytes);
  if (bytes > 0) std::memcpy(exchange_.data() + offset, own, bytes);
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, exchange_.data(), mpi_count(bytes), MPI_BYTE,
                       communicator_, &request),
        "all-gather");
  wait(request, "all-gather");
  if (bytes > 0) std::memcpy(all, exchange_.data(), exchange_.size());
}

void RankGroup::add_up(std::span<std::int64_t> values) {
  require_idle();
  if (size_ == 1 || values.empty()) return;
  constexpr std::size_t max_values = 32768;  // of the buffer, which stays
  while (!values.empty()) {
    const auto piece = values.first(std::min(values.size(), max_values));
    exchange_.resize(piece.size_bytes());
    std::memcpy(exchange_.data(), piece.data(), piece.size_bytes());
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Iallreduce(MPI_IN_PLACE, exchange_.data(), mpi_count(piece.size()), MPI_INT64_T, MPI_SUM,
                         communicator_, &request),
          "sum");
    wait(request, "sum");
    std::memcpy(piece.data(), exchange_.data(), piece.size_bytes());
    values = values.subspan(piece.size());
  }
}

void RankGroup::barrier() {
  require_idle();
  if (size_ == 1) return;
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Ibarrier(communicator_, &request), "barrier");
  wait(request, "barrier");
}

void RankGroup::wait(std::span<MPI_Request> requests, std::string_view operation) {
  require_usable();
  try {
    for (MPI_Request& request : requests) poll(request, operation);
  } catch (const Error& error) {
    for (MPI_Request& request : requests) abandon(request);
    lose(error);
    throw;
  }
}

/// Until the operation is done, or for as long as a wait may last.
void RankGroup::poll(MPI_Request& request, std::string_view operation) const {
  const auto start = Clock::now();
  auto last = start;
  for (unsigned polls = 1;; ++polls) {
    int done = 0;
    check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), operation);
    if (done != 0) return;
    if (polls % polls_per_yield != 0) continue;
    if (seconds_since(start) > timeout_s_) throw late(operation, seconds_since(start));
    offer_core(start, last);
  }
}

void RankGroup::check(int code, std::string_view operation) const {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  fail_run(ErrorId::communication_failed, "{}: rank {} of {}: {}", operation, rank_, size_, text);
}

Error RankGroup::late(std::string_view operation, double waited_s) const {
  return {
      ExitCode::failed, ErrorId::communication_failed,
      fmt::format("{}: rank {} of {} waited {:.4g} s for the other ranks (communication.timeout = {:.4g})",
                  operation, rank_, size_, waited_s, timeout_s_)};
}

void RankGroup::lose(const Error& error) {
  lost_ = error;
  drain();
}

void RankGroup::require_usable() const {
  if (lost_) throw *lost_;
}

void RankGroup::require_idle() const {
  require_usable();
  if (busy_with_ != nullptr)
    fail_run(ErrorId::internal,
             "the ranks cannot exchange anything else while a collective ({}) is in flight", busy_with_);
}

void RankGroup::abandon(MPI_Request& request) {
  if (request != MPI_REQUEST_NULL) abandoned_.push_back(request);
  request = MPI_REQUEST_NULL;
}

void RankGroup::drain() {
  constexpr double grace_s = 1;
  const auto start = Clock::now();
  int done = 0;
  while (has_abandoned() && seconds_since(start) < grace_s) {
    const int code =
        MPI_Testall(static_cast<int>(abandoned_.size()), abandoned_.data(), &done, MPI_STATUSES_IGNORE);
    if (code != MPI_SUCCESS) return;
    if (done != 0) abandoned_.clear();
    std::this_thread::yield();
  }
}

}  // namespace mylos
