// ParameterTensors: the weights or gradients of a stage, looked up by the names of its parameters().
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mylos/base/tensor.hpp"

namespace mylos {

struct NamedTensor : Tensor {
  NamedTensor(std::string its_name, const Tensor& tensor) : Tensor(tensor), name(std::move(its_name)) {}

  std::string name;
};

/// Returns "weight", or "qkv_weight" in the group "qkv".
[[nodiscard]] inline std::string parameter_name(const std::string& group, const std::string& name) {
  return group.empty() ? name : group + "_" + name;
}

class ParameterTensors {
 public:
  ParameterTensors() = default;
  ParameterTensors(std::span<const NamedTensor> tensors, std::string_view group = {})
      : tensors_(tensors), group_(group) {}
  ParameterTensors(const std::vector<NamedTensor>& tensors)  // NOLINT: a view
      : tensors_(tensors) {}

  /// Returns the tensors of a group. The group's name must outlive the result.
  [[nodiscard]] ParameterTensors of(std::string_view group) const { return {tensors_, group}; }

  /// Returns the tensor of this name. Throws Error if there is none.
  [[nodiscard]] const Tensor& operator[](std::string_view name) const;

  /// Returns the tensor of this name; null if there is none.
  [[nodiscard]] const Tensor* find(std::string_view name) const {
    for (const NamedTensor& tensor : tensors_) {
      if (has_name(tensor.name, name)) return &tensor;
    }
    return nullptr;
  }

 private:
  /// Compares without building a string: steps call this.
  [[nodiscard]] bool has_name(std::string_view full, std::string_view name) const {
    if (group_.empty()) return full == name;
    return full.size() == group_.size() + 1 + name.size() && full.starts_with(group_) &&
           full[group_.size()] == '_' && full.ends_with(name);
  }

  std::span<const NamedTensor> tensors_;
  std::string_view group_;
};

}  // namespace mylos
