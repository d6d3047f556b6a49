// TokenStore: the tokens of a split in their stored type, in memory or read on demand.
#pragma once

#include <cstdint>

#include "mylos/data/files/host_array.hpp"
#include "mylos/data/tokens/token_dataset.hpp"

namespace mylos {

class TokenStore {
 public:
  /// `longest`: the maximum number of tokens per call.
  TokenStore(const TokenDataset& dataset, Split split, bool in_memory, std::int64_t longest)
      : dataset_(dataset),
        split_(split),
        in_memory_(in_memory),
        bytes_("data tokens", memory_bytes(dataset, split, in_memory, longest)) {}

  /// Returns tokens [first, first + count) of the split; valid until the next call.
  [[nodiscard]] const std::byte* tokens(std::int64_t first, std::int64_t count) {
    if (!in_memory_) {
      dataset_.read(split_.first + first, count, bytes_.data());
      return bytes_.data();
    }
    if (!read_) dataset_.read(split_.first, split_.count, bytes_.data());
    read_ = true;
    return bytes_.data() + first * token_bytes(dataset_.type());
  }

  [[nodiscard]] const TokenDataset& dataset() const { return dataset_; }
  [[nodiscard]] const Split& split() const { return split_; }

  [[nodiscard]] static std::int64_t memory_bytes(const TokenDataset& dataset, Split split, bool in_memory,
                                                 std::int64_t longest) {
    return (in_memory ? split.count : longest) * token_bytes(dataset.type());
  }

 private:
  TokenDataset dataset_;
  Split split_;
  bool in_memory_;
  bool read_ = false;
  HostBytes bytes_;
};

}  // namespace mylos
