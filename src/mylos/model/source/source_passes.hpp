// What the passes of a SourcePlan are made of. Only source_calls.cpp and the passes' own files include this.
#pragma once

#include "mylos/model/source/source_constants.hpp"

namespace mylos {

/// Appends calls to a pass.
class SourceCalls {
 public:
  explicit SourceCalls(SourcePass& pass) : pass_(pass) {}

  /// The operation whose calls follow. Sizes in them are those of one of its points.
  void begin(const SourceOperation& operation) {
    layer_ = operation.layer;
    points_ = operation.points;
  }
  void add(SourceCallKind kind, const char* routine, std::vector<SourceArgument> arguments) {
    for (SourceArgument& argument : arguments) {
      if (auto* address = std::get_if<SourceAddress>(&argument)) address->step = address->width / points_;
    }
    pass_.calls.push_back({kind, routine, std::move(arguments), layer_, points_});
  }
  void copy(std::int64_t n, const SourceAddress& from, const SourceAddress& to) {
    add(SourceCallKind::each_element, "copy", {n, from, to});
  }
  void add_up(std::int64_t n, const SourceAddress& from, const SourceAddress& to) {
    add(SourceCallKind::elementwise, "add", {n, from, to});
  }

 private:
  SourcePass& pass_;
  std::string layer_;
  std::int64_t points_ = 1;
};

/// Outputs that are fewer than a tile are scalar products, whose weights are adjacent.
[[nodiscard]] inline bool has_few_outputs(const SourceLinear& linear) {
  return linear.bias.size() < 16;
}

/// Returns the arguments of routines for windows.
[[nodiscard]] inline std::vector<SourceArgument> arguments_of(const SourceWindows& windows,
                                                              std::vector<SourceAddress> addresses) {
  std::vector<SourceArgument> arguments{
      windows.points, windows.channels, windows.count,   windows.taps,
      windows.stride, windows.dilation, windows.padding, static_cast<std::int64_t>(windows.edges)};
  arguments.insert(arguments.end(), addresses.begin(), addresses.end());
  return arguments;
}

/// Gives every value between x and y its own numbers of a buffer: of the tape, or of derivatives beside it.
class SourceTape {
 public:
  explicit SourceTape(const SourceNetwork& network) : network_(network) {
    for (std::size_t value = 1; value < network.operations.size(); ++value) {
      offsets_.push_back(size_);
      size_ += network.width(value);
    }
  }

  [[nodiscard]] std::int64_t size() const { return size_; }
  /// `prefix`: "" of values, "d" and "g" of derivatives.
  [[nodiscard]] SourceAddress address(const std::string& prefix, std::size_t value) const {
    const std::int64_t width = network_.width(value);
    if (value == 0) return {prefix + "x", 0, width};
    if (value == network_.operations.size()) return {prefix + "y", 0, width};
    return {prefix + "tape", offsets_[value - 1], width};
  }

 private:
  const SourceNetwork& network_;
  std::vector<std::int64_t> offsets_;  // of the values from 1 on
  std::int64_t size_ = 0;
};

/// Where the two values of a concatenation begin in its result.
struct ConcatOffsets {
  ConcatOffsets(const SourceConcat& concat, std::int64_t input_width, std::int64_t other_width)
      : input(concat.other_first ? other_width : 0), other(concat.other_first ? 0 : input_width) {}

  std::int64_t input;
  std::int64_t other;
};

/// Returns the numbers of the buffer that are `offset` further.
[[nodiscard]] inline SourceAddress offset_by(SourceAddress address, std::int64_t offset) {
  address.offset += offset;
  return address;
}

/// Returns "apply_tanh".
[[nodiscard]] const char* routine_of(Activation activation);

[[nodiscard]] SourcePass forward_pass(const SourceNetwork& network, const SourceConstants& constants);
[[nodiscard]] SourcePass tape_pass(const SourceNetwork& network, const SourceConstants& constants,
                                   const SourceTape& tape);
[[nodiscard]] SourcePass tangent_pass(const SourceNetwork& network, const SourceConstants& constants,
                                      const SourceTape& tape);
[[nodiscard]] SourcePass pullback_pass(const SourceNetwork& network, const SourceConstants& constants,
                                       const SourceTape& tape);

}  // namespace mylos
