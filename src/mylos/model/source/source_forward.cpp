#include <fmt/format.h>

#include <algorithm>

#include "mylos/model/source/source_passes.hpp"

namespace mylos {
namespace {

/// The calls of one operation from x to y. In place, x is y for operations that may be.
class ForwardCalls {
 public:
  ForwardCalls(const SourceNetwork& network, const SourceConstants& constants, SourcePass& pass)
      : network_(network), constants_(constants), calls_(pass) {}

  /// `other`: the second value that the operation reads.
  void add(std::size_t operation, const SourceAddress& x, const SourceAddress& other,
           const SourceAddress& y) {
    operation_ = operation;
    const SourceOperation& described = network_.operations[operation];
    calls_.begin(described);
    inputs_ = network_.width(described.input) / described.points;
    outputs_ = described.outputs / described.points;
    points_ = described.points;
    x_ = x;
    other_ = other;
    y_ = y;
    std::visit([this](const auto& kind) { write(kind); }, described.kind);
  }

 private:
  [[nodiscard]] SourceConstantUse constant(std::size_t which) const {
    return constants_.of(operation_, which);
  }
  void write(const SourceLinear& linear) {
    const bool is_few = has_few_outputs(linear);
    calls_.add(is_few ? SourceCallKind::whole : SourceCallKind::linear, is_few ? "few_outputs" : "linear",
               {inputs_, outputs_, constant(0), constant(1), x_, y_});
  }
  void write(const SourceGather& gather) { write_windows("gather", gather.windows); }
  void write(const SourceMaxPool& pool) { write_windows("max_pool", pool.windows); }
  void write(const SourceAveragePool& pool) { write_windows("average_pool", pool.windows); }
  void write(const SourceActivation& activation) {
    begin_in_place();
    calls_.add(SourceCallKind::elementwise, routine_of(activation.function), {outputs_, y_});
  }
  void write(const SourceNorm& norm) {
    begin_in_place();
    const SourceNumber epsilon{static_cast<double>(norm.epsilon)};
    if (norm.type == NormType::rmsnorm) {
      calls_.add(SourceCallKind::whole, "rmsnorm", {outputs_, epsilon, constant(0), y_});
    } else {
      calls_.add(SourceCallKind::whole, "layernorm", {outputs_, epsilon, constant(0), constant(1), y_});
    }
  }
  void write(const SourceBatchNorm& /*norm*/) {
    begin_in_place();
    calls_.add(SourceCallKind::each_element, "batchnorm",
               {outputs_, constant(0), constant(1), constant(2), y_});
  }
  void write(const SourceAdd& sum) {
    begin_in_place();
    if (sum.factor.empty()) return calls_.add_up(outputs_, other_, y_);
    calls_.add(SourceCallKind::each_element, "add_scaled", {outputs_, constant(0), other_, y_});
  }
  void write(const SourceConcat& concat) {
    const std::int64_t others = network_.width(concat.other) / points_;
    const ConcatOffsets offsets(concat, inputs_, others);
    calls_.copy(inputs_, x_, offset_by(y_, offsets.input));
    calls_.copy(others, other_, offset_by(y_, offsets.other));
  }
  void write(const SourceScaling& /*scaling*/) { write_scaling("scale_inputs"); }
  void write(const SourceUnits& /*units*/) { write_scaling("scale_outputs"); }
  void write(const SourceGaussian& /*gaussian*/) {
    calls_.add(SourceCallKind::whole, "gaussian", {outputs_ / 2, constant(0), constant(1), x_, y_});
  }
  void write(const SourceSoftmax& /*softmax*/) {
    begin_in_place();
    calls_.add(SourceCallKind::whole, "softmax", {outputs_, y_});
  }
  void write(const SourceSigmoid& /*sigmoid*/) {
    begin_in_place();
    calls_.add(SourceCallKind::elementwise, "sigmoid", {outputs_, y_});
  }

  void write_windows(const char* routine, const SourceWindows& windows) {
    calls_.add(SourceCallKind::whole, routine, arguments_of(windows, {x_, y_}));
  }
  void write_scaling(const char* routine) {
    calls_.add(SourceCallKind::each_element, routine, {outputs_, constant(0), constant(1), x_, y_});
  }
  void begin_in_place() {
    if (x_.buffer != y_.buffer || x_.offset != y_.offset) calls_.copy(outputs_, x_, y_);
  }

  const SourceNetwork& network_;
  const SourceConstants& constants_;
  SourceCalls calls_;
  std::size_t operation_ = 0;
  std::int64_t inputs_ = 0;
  std::int64_t outputs_ = 0;
  std::int64_t points_ = 1;
  SourceAddress x_;
  SourceAddress other_;
  SourceAddress y_;
};

/// Returns the second value that an operation reads, or the first again.
std::size_t other_of(const SourceOperation& operation) {
  if (const auto* sum = std::get_if<SourceAdd>(&operation.kind)) return sum->other;
  if (const auto* concat = std::get_if<SourceConcat>(&operation.kind)) return concat->other;
  return operation.input;
}

bool runs_in_place(const SourceOperation& operation) {
  return std::holds_alternative<SourceActivation>(operation.kind) ||
         std::holds_alternative<SourceNorm>(operation.kind) ||
         std::holds_alternative<SourceBatchNorm>(operation.kind) ||
         std::holds_alternative<SourceAdd>(operation.kind) ||
         std::holds_alternative<SourceSoftmax>(operation.kind) ||
         std::holds_alternative<SourceSigmoid>(operation.kind);
}

/// Gives every value a buffer: x and y, and in between the first buffer whose value no later operation reads.
class BufferChoice {
 public:
  explicit BufferChoice(const SourceNetwork& network) : network_(network), last_reader_(values(), 0) {
    for (std::size_t i = 0; i < network.operations.size(); ++i)
      last_reader_[network.operations[i].input] = last_reader_[other_of(network.operations[i])] = i;
    of_value_.push_back("x");
    for (std::size_t i = 0; i < network.operations.size(); ++i) of_value_.push_back(choose(i));
  }

  [[nodiscard]] SourceAddress address(std::size_t value) const {
    return {of_value_[value], 0, network_.width(value)};
  }
  [[nodiscard]] std::vector<SourceBuffer> buffers() const { return buffers_; }

 private:
  [[nodiscard]] std::size_t values() const { return network_.operations.size() + 1; }

  std::string choose(std::size_t operation) {
    const SourceOperation& described = network_.operations[operation];
    if (operation + 1 == network_.operations.size()) return "y";
    const std::size_t input = described.input;
    const bool is_last = input > 0 && last_reader_[input] == operation && other_of(described) != input;
    const bool reads_one = other_of(described) == input && !std::holds_alternative<SourceAdd>(described.kind);
    if (runs_in_place(described) && input > 0 && last_reader_[input] == operation && (is_last || reads_one))
      return of_value_[input];
    for (SourceBuffer& buffer : buffers_) {
      if (is_in_use(buffer.name, operation)) continue;
      buffer.width = std::max(buffer.width, described.outputs);
      return buffer.name;
    }
    buffers_.push_back({fmt::format("buffer{}", buffers_.size() + 1), described.outputs});
    return buffers_.back().name;
  }

  /// Returns whether the operation or a later one reads a value in the buffer.
  [[nodiscard]] bool is_in_use(const std::string& buffer, std::size_t operation) const {
    for (std::size_t value = 0; value < of_value_.size(); ++value) {
      if (of_value_[value] == buffer && last_reader_[value] >= operation) return true;
    }
    return false;
  }

  const SourceNetwork& network_;
  std::vector<std::size_t> last_reader_;  // of each value
  std::vector<std::string> of_value_;
  std::vector<SourceBuffer> buffers_;
};

}  // namespace

const char* routine_of(Activation activation) {
  switch (activation) {
    case Activation::gelu:
      return "apply_gelu";
    case Activation::gelu_tanh:
      return "apply_gelu_tanh";
    case Activation::tanh:
      return "apply_tanh";
    case Activation::silu:
      return "apply_silu";
    case Activation::relu:
    case Activation::none:
      break;
  }
  return "apply_relu";
}

SourcePass forward_pass(const SourceNetwork& network, const SourceConstants& constants) {
  const BufferChoice choice(network);
  SourcePass pass;
  pass.buffers = choice.buffers();
  ForwardCalls calls(network, constants, pass);
  for (std::size_t i = 0; i < network.operations.size(); ++i) {
    const SourceOperation& operation = network.operations[i];
    calls.add(i, choice.address(operation.input), choice.address(other_of(operation)), choice.address(i + 1));
  }
  return pass;
}

SourcePass tape_pass(const SourceNetwork& network, const SourceConstants& constants, const SourceTape& tape) {
  SourcePass pass;
  ForwardCalls calls(network, constants, pass);
  for (std::size_t i = 0; i < network.operations.size(); ++i) {
    const SourceOperation& operation = network.operations[i];
    calls.add(i, tape.address("", operation.input), tape.address("", other_of(operation)),
              tape.address("", i + 1));
  }
  return pass;
}

}  // namespace mylos
