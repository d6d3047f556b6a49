#include "mylos/checkpoint/file/writing_group.hpp"

#include <algorithm>

#include "mylos/comm/ranks/collective_error.hpp"

namespace mylos {

void WritingGroup::on_each(const std::function<void()>& function) const {
  if (alone()) return function();
  run_on_each(*ranks_, function);
}

void WritingGroup::on_first(const std::function<void()>& function) const {
  if (alone()) return function();
  run_on_first(*ranks_, function);
}

std::vector<PieceCrc> WritingGroup::gather(std::vector<PieceCrc> own) const {
  if (alone()) return own;
  std::vector<std::size_t> lengths(static_cast<std::size_t>(size()));
  const std::size_t length = own.size();
  ranks_->all_gather(&length, lengths.data(), sizeof(length));
  own.resize(*std::max_element(lengths.begin(), lengths.end()));
  std::vector<PieceCrc> all(own.size() * lengths.size());
  ranks_->all_gather(own.data(), all.data(), own.size() * sizeof(PieceCrc));
  return all;
}

std::string WritingGroup::agreed(const std::string& text) const {
  return alone() ? text : broadcast_text(*ranks_, text);
}

void WritingGroup::agree(std::vector<std::int64_t>& numbers) const {
  if (!alone()) ranks_->broadcast(numbers.data(), numbers.size() * sizeof(std::int64_t), 0);
}

}  // namespace mylos
