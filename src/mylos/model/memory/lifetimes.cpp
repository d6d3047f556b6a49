#include "mylos/model/memory/lifetimes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"

namespace mylos {
namespace {

class Tracer {
 public:
  Tracer(const ChainCost& cost, const Schedule& schedule)
      : cost_(cost),
        schedule_(schedule),
        skips_(cost.skips()),
        boundaries_(cost.blocks.size() + 1),
        saved_(cost.blocks.size()),
        backward_left_(cost.blocks.size()) {}

  Lifetimes trace() {
    if (cost_.blocks.empty())
      fail_input(errors::internal, "an execution schedule needs a chain of at least one block");
    boundaries_[0] = {.tensor = begin(cost_.input_bytes, true), .is_there = true, .is_kept = true};
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
    if (!loss_done_) fail_input(errors::internal, "the execution schedule has no loss");
    if (backward_left_ > 0) {
      fail_input(errors::internal, "the execution schedule ends before backward of block {}",
                 backward_left_ - 1);
    }
    for (std::size_t i = 0; i < boundaries_.size(); ++i) {
      if (boundaries_[i].tensor != no_tensor)
        fail_input(errors::internal, "the execution schedule does not release the input of block {}", i);
    }
    if (cost_.input_bytes == 0) leave_out_input();
    return std::move(result_);
  }

 private:
  struct Saved {
    std::size_t tensor = no_tensor;
    std::size_t variant = 0;
  };

  struct Boundary {
    std::size_t tensor = no_tensor;    // x_i, where it is in memory
    std::size_t gradient = no_tensor;  // of x_i by the blocks that read it as a skip
    bool is_there = false;             // with all that is carried past it: block i can run forward
    bool is_kept = false;              // until backward of block i
    std::size_t carriers = 0;          // boundaries that are there, past which x_i is carried
  };

  template <class... Arguments>
  [[noreturn]] void refuse(fmt::format_string<Arguments...> format, Arguments&&... arguments) const {
    fail_input(errors::internal, "operation {} of the execution schedule, {}, cannot be executed: {}", at_,
               describe(schedule_[at_]), fmt::format(format, std::forward<Arguments>(arguments)...));
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
    if (!boundaries_[block].is_there) refuse("its input is not in memory");
    return boundaries_[block].tensor;
  }

  [[nodiscard]] bool is_needed(std::size_t boundary) const {
    const bool held_for_backward_below = boundary > 0 && saved_[boundary - 1].has_value();
    return boundaries_[boundary].is_there || boundaries_[boundary].carriers > 0 || held_for_backward_below;
  }

  void end_unless_needed(std::size_t boundary) {
    if (boundaries_[boundary].tensor != no_tensor && !is_needed(boundary)) end(boundaries_[boundary].tensor);
  }

  /// Of the tuple that x_boundary is, what nothing else needs.
  void release(std::size_t boundary) {
    const bool was_there = std::exchange(boundaries_[boundary].is_there, false);
    boundaries_[boundary].is_kept = false;
    end_unless_needed(boundary);
    for (const std::size_t carried : skips_.carried(boundary)) {
      if (was_there) --boundaries_[carried].carriers;
      end_unless_needed(carried);
    }
  }

  void keep(std::size_t boundary) {
    boundaries_[boundary].is_kept = true;
    result_.tensors[boundaries_[boundary].tensor].kept = true;
    for (const std::size_t carried : skips_.carried(boundary))
      result_.tensors[boundaries_[carried].tensor].kept = true;
  }

  void forward() {
    const Operation& operation = schedule_[at_];
    const std::size_t i = operation.block;
    const StageCost& cost = stage();
    if (i >= backward_left_) refuse("backward of the block has been done");
    const std::size_t input = input_of(i);
    if (boundaries_[i + 1].tensor != no_tensor) refuse("its output is in memory already");
    const bool keeps = operation.keep == Keep::variant;
    if (operation.keep != Keep::nothing) keep(i);
    OperationTensors& tensors = result_.operations[at_];
    tensors.input = input;
    if (cost.skip != no_skip) tensors.skip = boundaries_[cost.skip].tensor;
    tensors.output = begin(cost.output_bytes, keeps);
    boundaries_[i + 1].tensor = tensors.output;
    boundaries_[i + 1].is_there = true;
    boundaries_[i + 1].is_kept = keeps;
    for (const std::size_t carried : skips_.carried(i + 1)) ++boundaries_[carried].carriers;
    if (keeps) {
      tensors.saved = begin(variant().saved_bytes, true);
      saved_[i] = Saved{tensors.saved, operation.variant};
    }
    tensors.workspace = begin(cost.forward_workspace);
    if (!boundaries_[i].is_kept) release(i);
  }

  void loss() {
    const std::size_t last = cost_.blocks.size();
    if (loss_done_) refuse("it has been done");
    if (schedule_[at_].block != last) refuse("its block is not the number of blocks, {}", last);
    OperationTensors& tensors = result_.operations[at_];
    tensors.input = input_of(last);
    tensors.input_gradient = gradient_ = begin(cost_.blocks.back().output_bytes);
    tensors.workspace = begin(cost_.loss_workspace);
    release(last);
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
    tensors.output = boundaries_[i + 1].tensor;
    if (cost_.blocks[i].skip != no_skip) tensors.skip = boundaries_[cost_.blocks[i].skip].tensor;
    tensors.saved = saved_[i]->tensor;
    tensors.output_gradient = gradient_;
    if (i > 0) tensors.input_gradient = begin(cost_.boundary_bytes(i));
    tensors.workspace = begin(cost.backward_workspace);
    if (const std::size_t from = cost_.blocks[i].skip; from != no_skip && from > 0) {
      std::size_t& gradient = boundaries_[from].gradient;
      if (skips_.starts_gradient(i)) gradient = begin(cost_.boundary_bytes(from));
      tensors.skip_gradient = gradient;
    }
    tensors.carried_gradient = boundaries_[i].gradient;
    if (tensors.carried_gradient != no_tensor) end(boundaries_[i].gradient);

    end(gradient_);
    end(saved_[i]->tensor);
    saved_[i].reset();
    release(i + 1);
    release(i);
    gradient_ = tensors.input_gradient;
    backward_left_ = i;
  }

  /// x_0 lies outside the arena.
  void leave_out_input() {
    for (std::size_t at = 0; at < schedule_.size(); ++at) {
      const std::size_t block = schedule_[at].block;
      if (block == 0) result_.operations[at].input = no_tensor;
      if (block < cost_.blocks.size() && cost_.blocks[block].skip == 0)
        result_.operations[at].skip = no_tensor;
    }
  }

  const ChainCost& cost_;
  const Schedule& schedule_;
  const Skips skips_;
  Lifetimes result_;
  std::size_t at_ = 0;
  std::vector<Boundary> boundaries_;
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
