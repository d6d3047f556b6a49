#include "mylos/model/chain/skips.hpp"

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"

namespace mylos {

Skips::Skips(std::vector<std::size_t> sources)
    : sources_(std::move(sources)), last_readers_(sources_.size() + 1, no_skip) {
  bool any = false;
  for (std::size_t block = 0; block < sources_.size(); ++block) {
    const std::size_t from = sources_[block];
    if (from == no_skip) continue;
    if (from >= block)
      fail_input(errors::internal, "block {} cannot read x_{} besides its input x_{}", block, from, block);
    last_readers_[from] = block;
    any = true;
  }
  if (!any) return;
  carried_.resize(sources_.size() + 1);
  for (std::size_t from = 0; from < sources_.size(); ++from) {
    if (last_readers_[from] == no_skip) continue;
    for (std::size_t boundary = from + 1; boundary <= last_readers_[from]; ++boundary)
      carried_[boundary].push_back(from);
  }
}

}  // namespace mylos
