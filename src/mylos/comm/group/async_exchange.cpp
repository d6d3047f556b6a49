#include "mylos/comm/group/async_exchange.hpp"

#include <climits>
#include <memory>
#include <utility>

#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/internal.hpp"

namespace mylos {
namespace {

int mpi_bytes(std::size_t bytes) {
  if (bytes > INT_MAX)
    fail_run(errors::too_large, "MPI cannot exchange {} bytes in one call; the limit is {}", bytes, INT_MAX);
  return static_cast<int>(bytes);
}

}  // namespace

AsyncExchange::~AsyncExchange() {
  group_.abandon(request_);
  if (!group_.has_abandoned()) return;
  // MPI may still write to the buffer, so the buffer must outlive this object.
  static_cast<void>(std::make_unique<std::vector<std::byte>>(std::move(buffer_)).release());
}

void AsyncExchange::join(std::vector<std::byte> buffer) {
  ranks_.require_idle();
  if (joined_) fail_run(errors::internal, "an exchange is still in flight");
  buffer_ = std::move(buffer);
  joined_ = true;
}

void AsyncExchange::broadcast(std::vector<std::byte> data) {
  join(std::move(data));
  group_.check(MPI_Ibcast(buffer_.data(), mpi_bytes(buffer_.size()), MPI_BYTE, 0, group_.mpi(), &request_),
               "broadcast");
}

void AsyncExchange::gather(std::vector<std::byte> own) {
  const int bytes = mpi_bytes(own.size());
  const bool receives = group_.rank() == 0;
  if (receives) own.resize(own.size() * static_cast<std::size_t>(group_.size()));
  join(std::move(own));
  group_.check(MPI_Igather(receives ? MPI_IN_PLACE : buffer_.data(), bytes, MPI_BYTE,
                           receives ? buffer_.data() : nullptr, bytes, MPI_BYTE, 0, group_.mpi(), &request_),
               "gather");
}

bool AsyncExchange::ended() {
  if (!joined_) return false;
  ranks_.require_idle();
  int done = 0;
  group_.check(MPI_Test(&request_, &done, MPI_STATUS_IGNORE), "exchange");
  return done != 0;
}

std::vector<std::byte> AsyncExchange::take() {
  joined_ = false;
  return std::exchange(buffer_, {});
}

}  // namespace mylos
