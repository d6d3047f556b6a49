#include "mylos/comm/ranks/rank_group.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "mylos/base/device/seconds_since.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/base/numbers/hash.hpp"
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
    fail_run(errors::too_large, "MPI cannot exchange {} bytes in one call; the limit is {}", bytes, INT_MAX);
  return static_cast<int>(bytes);
}

/// Differs between machines, also where these have one name, and between nodes that are named apart on one
/// machine. MPI_Comm_split_type would ask the launcher, and has no form with a deadline.
std::string name_of_node() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  return name + ('\n' + boot);
}

}  // namespace

RankGroup::RankGroup(MPI_Comm parent, double timeout_s) : timeout_s_(timeout_s) {
  check(MPI_Comm_rank(parent, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(parent, &size_), "MPI_Comm_size");
  auto made = std::make_unique<MPI_Comm>(MPI_COMM_NULL);
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Comm_idup(parent, made.get(), &request), "MPI_Comm_idup");
  try {
    wait(request, "MPI_Comm_idup");
  } catch (const Error&) {
    static_cast<void>(made.release());  // MPI may still write it
    throw;
  }
  communicator_ = *made;
  check(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

MPI_Comm RankGroup::mpi() const {
  require_idle();
  if (communicator_ == MPI_COMM_NULL)
    fail_run(errors::internal, "a group of one process has no communicator");
  return communicator_;
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

NodePosition RankGroup::node_position() {
  const std::uint64_t own = hash_bytes(name_of_node());
  std::vector<std::uint64_t> nodes(static_cast<std::size_t>(size_));
  all_gather(&own, nodes.data(), sizeof own);
  const auto before = nodes.begin() + rank_;
  return {.first = static_cast<int>(std::find(nodes.begin(), nodes.end(), own) - nodes.begin()),
          .index = static_cast<int>(std::count(nodes.begin(), before, own)),
          .ranks = static_cast<int>(std::count(nodes.begin(), nodes.end(), own))};
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
  fail_run(errors::communication_failed, "{}: rank {} of {}: {}", operation, rank_, size_, text);
}

Error RankGroup::late(std::string_view operation, double waited_s) const {
  return {
      ExitCode::failed, errors::communication_failed,
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
    fail_run(errors::internal, "the ranks cannot exchange anything else while a collective ({}) is in flight",
             busy_with_);
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
