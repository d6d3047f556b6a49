#include "mylos/data/feed/share.hpp"

#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"

namespace mylos {

Share batch_share(std::int64_t batch, int rank, int ranks) {
  if (batch < ranks)
    fail_input(
        errors::wrong_rank_count,
        "data.batch = {} is less than the {} ranks, each of which needs a sample: start at most {} ranks, "
        "or raise data.batch",
        batch, ranks, batch);
  return share_of(batch, rank, ranks);
}

}  // namespace mylos
