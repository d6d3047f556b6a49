// Arena: one allocation of device memory that holds tensors at given byte offsets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "mylos/base/alignment.hpp"
#include "mylos/base/tensor.hpp"

namespace mylos {

class Arena {
 public:
  Arena() = default;
  /// Allocates `bytes` bytes and sets them to zero. `label` names the allocation in Kokkos' tools.
  Arena(const std::string& label, std::size_t bytes);

  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::byte* data() const { return data_.get(); }

  /// Returns the tensor that starts at byte `offset`. Throws Error if it does not fit.
  [[nodiscard]] Tensor tensor(std::size_t offset, DType type, std::int64_t rows, std::int64_t columns) const;

 private:
  std::string label_;
  std::size_t bytes_ = 0;
  std::shared_ptr<std::byte> data_;
};

}  // namespace mylos
