#include "mylos/model/lifetimes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "mylos/base/error.hpp"

namespace mylos {
namespace {

class Tracer {
 public:
  Tracer(const ChainCost& cost, const Schedule& schedule)
      : cost_(cost),
        schedule_(schedule),
        activation_(cost.blocks.size() + 1, no_tensor),
        saved_(cost.blocks.size()),
        backward_left_(cost.blocks.size()) {}

  Lifetimes trace() {
    if (cost_.blocks.empty()) fail_input("a schedule needs a chain of at least one block");
    activation_[0] = begin(cost_.input_bytes, true);
    for (; at_ < schedule_.size(); ++at_) {
      result_.operations.emplace_back();
      switch (schedule_[at_].kind) {
        case OperationKind::forward:
          forward();
          break;
        case OperationKind::loss:
          loss();
          break;
        case OperationKind::backward:
          backward();
          break;
      }
    }
    if (!loss_done_) fail_input("the list of operations has no loss");
    if (backward_left_ > 0) {
      fail_input("the list of operations ends before backward of block {}", backward_left_ - 1);
    }
    for (std::size_t i = 0; i < activation_.size(); ++i) {
      if (activation_[i] != no_tensor)
        fail_input("the list of operations leaves the input of block {} behind", i);
    }
    for (std::size_t at = 0; cost_.input_bytes == 0 && at < schedule_.size(); ++at) {
      if (schedule_[at].block == 0) result_.operations[at].input = no_tensor;
    }
    return std::move(result_);
  }

 private:
  struct Saved {
    std::size_t tensor = no_tensor;
    std::size_t variant = 0;
  };

  template <class... Arguments>
  [[noreturn]] void refuse(fmt::format_string<Arguments...> format, Arguments&&... arguments) const {
    fail_input("operation {} of the list, {}, cannot be executed: {}", at_, describe(schedule_[at_]),
               fmt::format(format, std::forward<Arguments>(arguments)...));
  }

  std::size_t begin(std::size_t bytes, bool kept = false) {
    result_.tensors.push_back({bytes, at_, at_, kept});
    return result_.tensors.size() - 1;
  }

  /// The tensor's bytes are free after this operation.
  void end(std::size_t& tensor) {
    result_.tensors[tensor].last = at_;
    tensor = no_tensor;
  }

  const StageCost& stage() const {
    const std::size_t block = schedule_[at_].block;
    if (block >= cost_.blocks.size()) refuse("there are {} blocks", cost_.blocks.size());
    return cost_.blocks[block];
  }

  const VariantCost& variant() const {
    const std::vector<VariantCost>& variants = stage().variants;
    if (schedule_[at_].variant >= variants.size()) {
      refuse("the block has {} variants, not number {}", variants.size(), schedule_[at_].variant);
    }
    return variants[schedule_[at_].variant];
  }

  std::size_t input_of(std::size_t block) const {
    if (activation_[block] == no_tensor) refuse("its input is not in memory");
    return activation_[block];
  }

  [[nodiscard]] bool held_for_backward_below(std::size_t boundary) const {
    return boundary > 0 && saved_[boundary - 1].has_value();
  }

  void forward() {
    const Operation& operation = schedule_[at_];
    const std::size_t i = operation.block;
    const StageCost& cost = stage();
    OperationTensors& tensors = result_.operations[at_];
    tensors.input = input_of(i);
    if (i >= backward_left_) refuse("backward of the block has been done");
    if (activation_[i + 1] != no_tensor) refuse("its output is in memory already");
    const bool keeps = operation.keep == Keep::variant;
    if (operation.keep != Keep::nothing) result_.tensors[tensors.input].kept = true;
    tensors.output = activation_[i + 1] = begin(cost.output_bytes, keeps);
    if (keeps) {
      tensors.saved = begin(variant().saved_bytes, true);
      saved_[i] = Saved{tensors.saved, operation.variant};
    }
    tensors.workspace = begin(cost.forward_workspace);
    if (!result_.tensors[tensors.input].kept) end(activation_[i]);
  }

  void loss() {
    const std::size_t last = cost_.blocks.size();
    if (loss_done_) refuse("it has been done");
    if (schedule_[at_].block != last) refuse("its block is not the number of blocks, {}", last);
    OperationTensors& tensors = result_.operations[at_];
    tensors.input = input_of(last);
    tensors.input_gradient = gradient_ = begin(cost_.blocks.back().output_bytes);
    tensors.workspace = begin(cost_.loss_workspace);
    if (!held_for_backward_below(last)) end(activation_[last]);
    loss_done_ = true;
  }

  void backward() {
    const std::size_t i = schedule_[at_].block;
    const VariantCost& cost = variant();
    OperationTensors& tensors = result_.operations[at_];
    if (!loss_done_ || i + 1 != backward_left_) refuse("the gradient of its output is not in memory");
    tensors.input = input_of(i);
    if (!saved_[i]) refuse("no forward operation kept a variant for it");
    if (saved_[i]->variant != schedule_[at_].variant) {
      refuse("forward kept variant {}, not {}", saved_[i]->variant, schedule_[at_].variant);
    }
    tensors.output = activation_[i + 1];
    tensors.saved = saved_[i]->tensor;
    tensors.output_gradient = gradient_;
    if (i > 0) tensors.input_gradient = begin(cost_.blocks[i - 1].output_bytes);
    tensors.workspace = begin(cost.backward_workspace);

    end(gradient_);
    end(saved_[i]->tensor);
    end(activation_[i + 1]);
    saved_[i].reset();
    if (!held_for_backward_below(i)) end(activation_[i]);
    gradient_ = tensors.input_gradient;
    backward_left_ = i;
  }

  const ChainCost& cost_;
  const Schedule& schedule_;
  Lifetimes result_;
  std::size_t at_ = 0;
  std::vector<std::size_t> activation_;  // of each boundary: the tensor that is in memory now
  std::vector<std::optional<Saved>> saved_;
  std::size_t gradient_ = no_tensor;
  std::size_t backward_left_;  // blocks whose backward has not been done: 0 … backward_left_ - 1
  bool loss_done_ = false;
};

}  // namespace

std::vector<std::size_t> Lifetimes::live_bytes() const {
  std::vector<std::size_t> bytes(operations.size() + 1, 0);
  for (const TensorLifetime& tensor : tensors) {
    bytes[tensor.first] += tensor.bytes;
    bytes[tensor.last + 1] -= tensor.bytes;  // wraps; the running sum below unwraps
  }
  std::partial_sum(bytes.begin(), bytes.end(), bytes.begin());
  bytes.pop_back();
  return bytes;
}

std::size_t Lifetimes::live_peak() const {
  const std::vector<std::size_t> bytes = live_bytes();
  return *std::max_element(bytes.begin(), bytes.end());
}

Lifetimes trace_lifetimes(const ChainCost& cost, const Schedule& schedule) {
  return Tracer(cost, schedule).trace();
}

}  // namespace mylos
