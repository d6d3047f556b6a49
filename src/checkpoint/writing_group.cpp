#include "writing_group.hpp"

#include "mylos/comm/collective_error.hpp"

namespace mylos {

void WritingGroup::on_all(const std::function<void()>& function) const {
  if (alone()) return function();
  run_on_all(*ranks_, function);
}

void WritingGroup::on_first(const std::function<void()>& function) const {
  if (alone()) return function();
  run_on_first(*ranks_, function);
}

void WritingGroup::barrier() const {
  if (!alone()) ranks_->barrier();
}

std::vector<std::uint32_t> WritingGroup::gather(const std::vector<std::uint32_t>& own) const {
  if (alone()) return own;
  std::vector<std::uint32_t> all(own.size() * static_cast<std::size_t>(size()));
  ranks_->all_gather(own.data(), all.data(), own.size() * sizeof(std::uint32_t));
  return all;
}

std::string WritingGroup::agreed(const std::string& text) const {
  return alone() ? text : broadcast_text(*ranks_, text);
}

}  // namespace mylos
