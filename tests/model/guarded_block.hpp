// Runs a block in memory of exactly the stated bytes, with guards around each range.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>

#include "model/scribbling_gemm.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/model/block.hpp"
#include "support/device_values.hpp"
#include "support/rounding.hpp"

namespace mylos::test {

/// Multiples of 1/16 in [-range, range]: exact in every type.
inline std::vector<float> drawn_values(std::int64_t count, int seed, float range = 2) {
  std::mt19937 random(static_cast<unsigned>(seed));
  const int steps = static_cast<int>(range * 16);
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<float>(std::uniform_int_distribution<int>(-steps, steps)(random)) / 16);
  }
  return values;
}

/// All memory starts as 0xff bytes, which are NaN in every type, so that reads of unwritten memory show.
class GuardedBlock {
 public:
  GuardedBlock(const Block& block, std::int64_t rows, bool input_gradient, std::size_t variant = 0,
               bool passes_gelu = false)
      : GuardedBlock(block, rows, input_gradient, variant, nullptr, nullptr, passes_gelu) {}
  /// By these engines, and for a part of samples with their other ranks.
  GuardedBlock(const Block& block, std::int64_t rows, bool input_gradient, std::size_t variant,
               const Engines* engines, SampleRanks* ranks, bool passes_gelu = false)
      : block_(block),
        variant_(variant),
        gemm_(passes_gelu),
        engines_(engines != nullptr ? *engines : gemm_.operator Engines()),
        ranks_(ranks),
        cost_(block.cost(engines_, rows)),
        arena_("guarded block", 1 << 20) {
    Kokkos::deep_copy(Kokkos::View<std::byte*, Device>(arena_.data(), arena_.bytes()), guard);
    const Signature& is = block.signature();
    for (const ParameterSpec& spec : block.parameters()) {
      weights_.emplace_back(spec.name, add(spec.name, spec.type, spec.rows, spec.columns));
      gradients_.emplace_back(spec.name,
                              add(spec.name + " gradient", spec.gradient_type, spec.rows, spec.columns));
    }
    for (const BufferSpec& spec : block.buffers()) {
      const Tensor values = add("buffer " + spec.name, spec.type, 1, spec.size);
      if (spec.role == BufferRole::state) fill(exec_, values, spec.initial_value);
      if (spec.role == BufferRole::sum) set_to_zero(exec_, values);
      if (spec.role == BufferRole::constant) {
        std::vector<float> numbers(static_cast<std::size_t>(spec.size));
        spec.values(0, numbers);
        set_values(values, numbers);
      }
      buffers_.emplace_back(spec.name, values);
    }
    exec_.fence();
    input_ = add("input", is.input_type, rows, is.inputs);
    output_ = add("output", is.output_type, rows, is.outputs);
    output_gradient_ = add("output gradient", is.output_type, rows, is.outputs);
    if (input_gradient) input_gradient_ = add("input gradient", is.input_type, rows, is.inputs);
    saved_ = add("saved", cost_.variants.at(variant).saved_bytes);
    forward_workspace_ = add_workspace("forward workspace", cost_.forward_workspace);
    backward_workspace_ = add_workspace("backward workspace", cost_.variants[variant].backward_workspace);
  }

  [[nodiscard]] const BlockCost& cost() const { return cost_; }
  [[nodiscard]] const std::vector<NamedTensor>& weights() const { return weights_; }
  [[nodiscard]] const std::vector<NamedTensor>& gradients() const { return gradients_; }
  [[nodiscard]] const std::vector<NamedTensor>& buffers() const { return buffers_; }
  [[nodiscard]] const Tensor& input() const { return input_; }
  [[nodiscard]] const Tensor& output() const { return output_; }
  [[nodiscard]] const Tensor& output_gradient() const { return output_gradient_; }
  [[nodiscard]] const Tensor& input_gradient() const { return input_gradient_; }

  void forward(bool training = true, bool keeps = true) {
    scribble_over("forward workspace");
    BlockMemory now = memory(forward_workspace_);
    if (!keeps) now.saved = nullptr;
    std::vector<std::string> written{"output", "forward workspace"};
    if (training) add_written_buffers(written);
    if (keeps) written.emplace_back("saved");
    expect_only_written(written, [&] { block_.forward(context(training), now); });
  }
  void forward_again() {
    scribble_over("forward workspace");
    BlockMemory now = memory(forward_workspace_);
    now.is_recompute = true;
    expect_only_written({"output", "saved", "forward workspace"},
                        [&] { block_.forward(context(true), now); });
  }
  void backward(bool accumulate = false) {
    scribble_over("backward workspace");
    std::vector<std::string> written{"output gradient", "input gradient", "backward workspace"};
    add_written_buffers(written);
    for (const ParameterSpec& spec : block_.parameters()) written.push_back(spec.name + " gradient");
    expect_only_written(written, [&] {
      block_.backward(context(true), memory(backward_workspace_),
                      {.weights = gradients_,
                       .accumulate = accumulate,
                       .output = output_gradient_,
                       .input = input_gradient_});
    });
  }

  static constexpr std::uint64_t step = 41;
  static constexpr std::uint64_t first_sample = 1000;

 private:
  static constexpr std::byte guard{0xc3};
  static constexpr std::size_t guard_bytes = 256;

  StepContext context(bool training) {
    return {.exec = exec_,
            .engines = engines_,
            .step = step_.data(),
            .first_sample = first_sample,
            .training = training,
            .sample_ranks = ranks_};
  }
  BlockMemory memory(std::byte* workspace) {
    return {.weights = weights_,
            .input = input_,
            .output = output_,
            .buffers = buffers_,
            .saved = saved_,
            .workspace = workspace,
            .variant = variant_};
  }
  /// All buffers except constants, and state, which only the end of a step updates.
  void add_written_buffers(std::vector<std::string>& names) const {
    for (const BufferSpec& spec : block_.buffers()) {
      const bool is_fixed = spec.role == BufferRole::state || spec.role == BufferRole::constant;
      if (!is_fixed) names.push_back("buffer " + spec.name);
    }
  }
  void scribble_over(const std::string& name) {
    exec_.fence();
    if (const auto large = workspaces_.find(name); large != workspaces_.end()) {
      make_not_a_number(large->second.data() + guard_bytes, large->second.bytes() - 2 * guard_bytes);
    } else {
      make_not_a_number(arena_.data() + stretches_.at(name).offset, stretches_.at(name).bytes);
    }
  }
  static void make_not_a_number(std::byte* begin, std::size_t bytes) {
    if (bytes > 0) Kokkos::deep_copy(Kokkos::View<std::byte*, Device>(begin, bytes), std::byte{0xff});
  }
  /// A device library's workspace is large: it has a separate arena, of which only the guards are checked.
  std::byte* add_workspace(const std::string& name, std::size_t bytes) {
    if (bytes < arena_.bytes() / 4) return add(name, bytes);
    const Arena arena(name, bytes + 2 * guard_bytes);
    Kokkos::deep_copy(Kokkos::View<std::byte*, Device>(arena.data(), arena.bytes()), guard);
    make_not_a_number(arena.data() + guard_bytes, bytes);
    return workspaces_.try_emplace(name, arena).first->second.data() + guard_bytes;
  }
  void expect_guards_of_workspaces() const {
    for (const auto& [name, arena] : workspaces_) {
      std::vector<std::byte> found(2 * guard_bytes);
      copy_to_host(arena.data(), found.data(), guard_bytes);
      copy_to_host(arena.data() + arena.bytes() - guard_bytes, found.data() + guard_bytes, guard_bytes);
      EXPECT_EQ(found, std::vector<std::byte>(2 * guard_bytes, guard)) << "beside the " << name;
    }
  }
  std::byte* add(const std::string& name, std::size_t bytes) {
    const std::size_t offset = aligned_bytes(end_ + 256);
    end_ = offset + bytes;
    if (end_ + 256 > arena_.bytes()) throw std::logic_error("the guarded block needs a larger arena");
    stretches_[name] = {offset, bytes};
    make_not_a_number(arena_.data() + offset, bytes);
    return arena_.data() + offset;
  }
  Tensor add(const std::string& name, DType type, std::int64_t rows, std::int64_t columns) {
    return {add(name, static_cast<std::size_t>(rows * columns) * size_of(type)), type, rows, columns};
  }
  std::vector<std::byte> all_memory() {
    exec_.fence();
    std::vector<std::byte> bytes(arena_.bytes());
    copy_to_host(arena_.data(), bytes.data(), bytes.size());
    return bytes;
  }
  template <class Work>
  void expect_only_written(const std::vector<std::string>& names, const Work& work) {
    std::vector<std::byte> before = all_memory();
    work();
    const std::vector<std::byte> after = all_memory();
    expect_guards_of_workspaces();
    for (const std::string& name : names) {
      if (!stretches_.contains(name)) continue;
      const auto [offset, bytes] = stretches_[name];
      std::copy_n(after.begin() + static_cast<std::ptrdiff_t>(offset), bytes,
                  before.begin() + static_cast<std::ptrdiff_t>(offset));
    }
    const auto difference = std::mismatch(before.begin(), before.end(), after.begin()).first;
    if (difference == before.end()) return;
    const auto where = static_cast<std::size_t>(difference - before.begin());
    for (const auto& [name, stretch] : stretches_) {
      if (where + 256 < stretch.offset || where >= stretch.offset + stretch.bytes + 256) continue;
      ADD_FAILURE() << "byte " << where << " changed; near " << name << " [" << stretch.offset << ", "
                    << stretch.offset + stretch.bytes << ")";
    }
  }

  struct Stretch {
    std::size_t offset = 0;
    std::size_t bytes = 0;
  };
  const Block& block_;
  std::size_t variant_;
  Execution exec_;
  ScribblingGemm gemm_;
  Engines engines_;
  SampleRanks* ranks_;
  DeviceValue<std::uint64_t> step_{step};
  BlockCost cost_;
  Arena arena_;
  std::size_t end_ = 0;
  std::map<std::string, Stretch> stretches_;
  std::map<std::string, Arena> workspaces_;
  std::vector<NamedTensor> weights_, gradients_, buffers_;
  Tensor input_, output_, output_gradient_, input_gradient_;
  std::byte* saved_ = nullptr;
  std::byte* forward_workspace_ = nullptr;
  std::byte* backward_workspace_ = nullptr;
};

}  // namespace mylos::test
