#include "mylos/interchange/source/source_calls.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mylos/interchange/source/source_names.hpp"

namespace mylos {
namespace {

using Arguments = std::vector<SourceArgument>;

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

std::vector<double> doubles(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

/// The constants of each operation, by their order in its routine.
class Constants {
 public:
  Constants(const SourceNetwork& network, const std::set<std::string>& reserved, SourcePlan& plan)
      : names_(reserved), plan_(plan), of_(network.operations.size()) {
    for (std::size_t i = 0; i < of_.size(); ++i) {
      operation_ = i;
      layer_ = network.operations[i].layer;
      inputs_ = network.width(network.operations[i].input);
      std::visit([this](const auto& kind) { add(kind); }, network.operations[i].kind);
    }
  }

  [[nodiscard]] SourceConstantUse of(std::size_t operation, std::size_t which) const {
    return {of_[operation][which]};
  }

 private:
  void add(const SourceLinear& linear) {
    const auto outputs = static_cast<std::int64_t>(linear.bias.size());
    put("weight", fmt::format("[{}][{}]", inputs_, outputs), doubles(linear.weight), false);
    put("bias", fmt::format("[{}]", outputs), doubles(linear.bias), false);
  }
  void add(const SourceNorm& norm) {
    put("weight", doubles(norm.weight));
    if (norm.type == NormType::rmsnorm) return;
    put("bias", norm.bias.empty() ? std::vector<double>(norm.weight.size(), 0.0) : doubles(norm.bias));
  }
  void add(const SourceBatchNorm& norm) {
    put("mean", norm.shift);
    put("scale", norm.scale);
    put("bias", norm.offset);
  }
  void add(const SourceAdd& sum) {
    if (!sum.factor.empty()) put("factor", doubles(sum.factor));
  }
  void add(const SourceScaling& scaling) { add_scaling(scaling.shift, scaling.scale); }
  void add(const SourceUnits& units) { add_scaling(units.shift, units.scale); }
  void add(const SourceGaussian& gaussian) { add_scaling(gaussian.shift, gaussian.scale); }
  void add(const SourceActivation& /*kind*/) {}
  void add(const SourceConcat& /*kind*/) {}
  void add(const SourceSoftmax& /*kind*/) {}
  void add(const SourceSigmoid& /*kind*/) {}

  void add_scaling(const std::vector<double>& shift, const std::vector<double>& scale) {
    put("shift", fmt::format("[{}]", shift.size()), shift, true);
    put("scale", fmt::format("[{}]", scale.size()), scale, true);
  }
  void put(const char* part, std::vector<double> values) {
    const std::string shape = fmt::format("[{}]", values.size());
    put(part, shape, std::move(values), false);
  }
  void put(const char* part, const std::string& shape, std::vector<double> values, bool is_double) {
    std::string name = names_.add(layer_, part);
    of_[operation_].push_back(name);
    plan_.constants.push_back(
        {std::move(name), fmt::format("{}: {} {}", layer_, part, shape), is_double, std::move(values)});
  }

  SourceNames names_;
  SourcePlan& plan_;
  std::vector<std::vector<std::string>> of_;
  std::size_t operation_ = 0;
  std::string layer_;
  std::int64_t inputs_ = 0;
};

/// Appends calls to a pass.
class Calls {
 public:
  explicit Calls(SourcePass& pass) : pass_(pass) {}

  void set_layer(const std::string& layer) { layer_ = layer; }
  void add(SourceCallKind kind, const char* routine, Arguments arguments) {
    pass_.calls.push_back({kind, routine, std::move(arguments), layer_});
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
};

SourceAddress offset_by(SourceAddress address, std::int64_t offset) {
  address.offset += offset;
  return address;
}

/// Where the two values of a concatenation begin in its result.
struct ConcatOffsets {
  ConcatOffsets(const SourceConcat& concat, std::int64_t input_width, std::int64_t other_width)
      : input(concat.other_first ? other_width : 0), other(concat.other_first ? 0 : input_width) {}

  std::int64_t input;
  std::int64_t other;
};

/// The calls of one operation from x to y. In place, x is y for operations that may be.
class ForwardCalls {
 public:
  ForwardCalls(const SourceNetwork& network, const Constants& constants, SourcePass& pass)
      : network_(network), constants_(constants), calls_(pass) {}

  /// `other`: the second value that the operation reads.
  void add(std::size_t operation, const SourceAddress& x, const SourceAddress& other,
           const SourceAddress& y) {
    operation_ = operation;
    const SourceOperation& described = network_.operations[operation];
    calls_.set_layer(described.layer);
    inputs_ = network_.width(described.input);
    outputs_ = described.outputs;
    x_ = x;
    other_ = other;
    y_ = y;
    std::visit([this](const auto& kind) { write(kind); }, described.kind);
  }

 private:
  [[nodiscard]] SourceConstantUse constant(std::size_t which) const {
    return constants_.of(operation_, which);
  }
  void write(const SourceLinear& /*linear*/) {
    calls_.add(SourceCallKind::linear, "linear", {inputs_, outputs_, constant(0), constant(1), x_, y_});
  }
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
    const std::int64_t others = network_.width(concat.other);
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

  void write_scaling(const char* routine) {
    calls_.add(SourceCallKind::each_element, routine, {outputs_, constant(0), constant(1), x_, y_});
  }
  void begin_in_place() {
    if (x_.buffer != y_.buffer || x_.offset != y_.offset) calls_.copy(outputs_, x_, y_);
  }

  const SourceNetwork& network_;
  const Constants& constants_;
  Calls calls_;
  std::size_t operation_ = 0;
  std::int64_t inputs_ = 0;
  std::int64_t outputs_ = 0;
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

SourcePass forward_pass(const SourceNetwork& network, const Constants& constants) {
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

/// Gives every value between x and y its own numbers of a buffer: of the tape, or of derivatives beside it.
class Tape {
 public:
  explicit Tape(const SourceNetwork& network) : network_(network) {
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

SourcePass tape_pass(const SourceNetwork& network, const Constants& constants, const Tape& tape) {
  SourcePass pass;
  ForwardCalls calls(network, constants, pass);
  for (std::size_t i = 0; i < network.operations.size(); ++i) {
    const SourceOperation& operation = network.operations[i];
    calls.add(i, tape.address("", operation.input), tape.address("", other_of(operation)),
              tape.address("", i + 1));
  }
  return pass;
}

/// The calls that most operations have in both directions: their derivative is a diagonal or symmetric
/// matrix, by which `to` = derivative times `from`. Returns false for the others.
class SymmetricSlopes {
 public:
  SymmetricSlopes(const SourceNetwork& network, const Constants& constants, const Tape& tape, Calls& calls)
      : network_(network), constants_(constants), tape_(tape), calls_(calls) {}

  bool add(std::size_t operation, const SourceAddress& source, const SourceAddress& target) {
    operation_ = operation;
    n_ = network_.operations[operation].outputs;
    source_ = source;
    target_ = target;
    return std::visit([this](const auto& kind) { return write(kind); }, network_.operations[operation].kind);
  }

 private:
  [[nodiscard]] SourceAddress x() const { return tape_.address("", network_.operations[operation_].input); }
  [[nodiscard]] SourceAddress y() const { return tape_.address("", operation_ + 1); }
  [[nodiscard]] SourceConstantUse constant(std::size_t which) const {
    return constants_.of(operation_, which);
  }
  bool add_whole(const std::string& routine, Arguments arguments) {
    calls_.add(SourceCallKind::whole, routine.c_str(), std::move(arguments));
    return true;
  }
  bool write_scale() { return add_whole("scale_by", {n_, constant(1), source_, target_}); }

  bool write(const SourceActivation& activation) {
    const std::string routine = routine_of(activation.function);
    return add_whole(routine.substr(std::string("apply_").size()) + "_slope", {n_, x(), source_, target_});
  }
  bool write(const SourceBatchNorm& /*norm*/) {
    return add_whole("multiply", {n_, constant(1), source_, target_});
  }
  bool write(const SourceScaling& /*scaling*/) { return write_scale(); }
  bool write(const SourceUnits& /*units*/) { return write_scale(); }
  bool write(const SourceGaussian& /*gaussian*/) {
    return add_whole("gaussian_slope", {n_ / 2, constant(1), y(), source_, target_});
  }
  bool write(const SourceSoftmax& /*softmax*/) {
    return add_whole("softmax_slope", {n_, y(), source_, target_});
  }
  bool write(const SourceSigmoid& /*sigmoid*/) {
    return add_whole("sigmoid_slope", {n_, y(), source_, target_});
  }
  bool write(const SourceLinear& /*linear*/) { return false; }
  bool write(const SourceNorm& /*norm*/) { return false; }
  bool write(const SourceAdd& /*sum*/) { return false; }
  bool write(const SourceConcat& /*concat*/) { return false; }

  const SourceNetwork& network_;
  const Constants& constants_;
  const Tape& tape_;
  Calls& calls_;
  std::size_t operation_ = 0;
  std::int64_t n_ = 0;
  SourceAddress source_;
  SourceAddress target_;
};

const char* slope_of(const SourceNorm& norm) {
  return norm.type == NormType::rmsnorm ? "rmsnorm_slope" : "layernorm_slope";
}

/// A buffer for derivatives that are not in their place yet, as wide as the widest value in it.
class Temporary {
 public:
  Temporary(SourcePass& pass, std::string name) : pass_(pass), name_(std::move(name)) {}

  SourceAddress of(std::int64_t width) {
    const auto found = std::find_if(pass_.buffers.begin(), pass_.buffers.end(),
                                    [this](const SourceBuffer& each) { return each.name == name_; });
    if (found == pass_.buffers.end()) {
      pass_.buffers.push_back({name_, width});
    } else {
      found->width = std::max(found->width, width);
    }
    return {name_, 0, width};
  }

 private:
  SourcePass& pass_;
  std::string name_;
};

class TangentPass {
 public:
  TangentPass(const SourceNetwork& network, const Constants& constants, const Tape& tape)
      : network_(network),
        constants_(constants),
        tape_(tape),
        calls_(pass_),
        slopes_(network, constants, tape, calls_),
        scaled_(pass_, "scaled") {}

  SourcePass take() {
    for (std::size_t i = 0; i < network_.operations.size(); ++i) {
      calls_.set_layer(network_.operations[i].layer);
      operation_ = i;
      if (slopes_.add(i, dx(), dy())) continue;
      std::visit([this](const auto& kind) { write(kind); }, network_.operations[i].kind);
    }
    return std::move(pass_);
  }

 private:
  [[nodiscard]] const SourceOperation& operation() const { return network_.operations[operation_]; }
  [[nodiscard]] SourceAddress derivative(std::size_t value) const { return tape_.address("d", value); }
  [[nodiscard]] SourceAddress dx() const { return derivative(operation().input); }
  [[nodiscard]] SourceAddress dy() const { return derivative(operation_ + 1); }
  [[nodiscard]] SourceConstantUse constant(std::size_t which) const {
    return constants_.of(operation_, which);
  }

  void write(const SourceLinear& /*linear*/) {
    calls_.add(SourceCallKind::whole, "linear_tangent",
               {network_.width(operation().input), operation().outputs, constant(0), dx(), dy()});
  }
  void write(const SourceNorm& norm) {
    const std::int64_t n = operation().outputs;
    const SourceAddress scaled = scaled_.of(n);
    calls_.add(SourceCallKind::whole, slope_of(norm),
               {n, SourceNumber{static_cast<double>(norm.epsilon)}, tape_.address("", operation().input),
                dx(), scaled});
    calls_.add(SourceCallKind::whole, "multiply", {n, constant(0), scaled, dy()});
  }
  void write(const SourceAdd& sum) {
    const std::int64_t n = operation().outputs;
    calls_.copy(n, dx(), dy());
    if (sum.factor.empty()) return calls_.add_up(n, derivative(sum.other), dy());
    calls_.add(SourceCallKind::each_element, "add_scaled", {n, constant(0), derivative(sum.other), dy()});
  }
  void write(const SourceConcat& concat) {
    const std::int64_t n = network_.width(operation().input);
    const std::int64_t others = network_.width(concat.other);
    const ConcatOffsets offsets(concat, n, others);
    calls_.copy(n, dx(), offset_by(dy(), offsets.input));
    calls_.copy(others, derivative(concat.other), offset_by(dy(), offsets.other));
  }
  template <class Symmetric>
  void write(const Symmetric& /*kind*/) {}

  const SourceNetwork& network_;
  const Constants& constants_;
  const Tape& tape_;
  SourcePass pass_;
  Calls calls_;
  SymmetricSlopes slopes_;
  Temporary scaled_;
  std::size_t operation_ = 0;
};

/// From the last operation to the first. The first gradient of a value that arrives is written to its place,
/// others are added to it.
class PullbackPass {
 public:
  PullbackPass(const SourceNetwork& network, const Constants& constants, const Tape& tape)
      : network_(network),
        constants_(constants),
        tape_(tape),
        has_gradient_(network.operations.size() + 1, false),
        calls_(pass_),
        slopes_(network, constants, tape, calls_),
        scaled_(pass_, "scaled"),
        added_(pass_, "added") {
    has_gradient_.back() = true;
  }

  SourcePass take() {
    for (std::size_t i = network_.operations.size(); i-- > 0;) {
      if (!has_gradient_[i + 1]) continue;  // no output depends on it
      calls_.set_layer(network_.operations[i].layer);
      operation_ = i;
      const bool is_symmetric = [&] {
        const std::size_t input = operation().input;
        const SourceAddress target = target_of(input);
        if (!slopes_.add(i, gradient(i + 1), target)) return false;
        arrive(input, target);
        return true;
      }();
      if (!is_symmetric) std::visit([this](const auto& kind) { write(kind); }, operation().kind);
    }
    return std::move(pass_);
  }

 private:
  [[nodiscard]] const SourceOperation& operation() const { return network_.operations[operation_]; }
  [[nodiscard]] SourceAddress gradient(std::size_t value) const { return tape_.address("g", value); }
  [[nodiscard]] SourceAddress gy() const { return gradient(operation_ + 1); }
  [[nodiscard]] SourceConstantUse constant(std::size_t which) const {
    return constants_.of(operation_, which);
  }
  /// Returns where to write a gradient of the value, for arrive().
  SourceAddress target_of(std::size_t value) {
    return has_gradient_[value] ? added_.of(network_.width(value)) : gradient(value);
  }
  void arrive(std::size_t value, const SourceAddress& target) {
    if (has_gradient_[value]) calls_.add_up(network_.width(value), target, gradient(value));
    has_gradient_[value] = true;
  }
  void pass_on(std::size_t value, const SourceAddress& source) {
    if (has_gradient_[value]) {
      calls_.add_up(network_.width(value), source, gradient(value));
    } else {
      calls_.copy(network_.width(value), source, gradient(value));
    }
    has_gradient_[value] = true;
  }

  void write(const SourceLinear& /*linear*/) {
    const std::size_t input = operation().input;
    const SourceAddress target = target_of(input);
    calls_.add(SourceCallKind::whole, "linear_pullback",
               {network_.width(input), operation().outputs, constant(0), gy(), target});
    arrive(input, target);
  }
  void write(const SourceNorm& norm) {
    const std::size_t input = operation().input;
    const std::int64_t n = operation().outputs;
    const SourceAddress scaled = scaled_.of(n);
    const SourceAddress target = target_of(input);
    calls_.add(SourceCallKind::whole, "multiply", {n, constant(0), gy(), scaled});
    calls_.add(
        SourceCallKind::whole, slope_of(norm),
        {n, SourceNumber{static_cast<double>(norm.epsilon)}, tape_.address("", input), scaled, target});
    arrive(input, target);
  }
  void write(const SourceAdd& sum) {
    pass_on(operation().input, gy());
    if (sum.factor.empty()) return pass_on(sum.other, gy());
    const SourceAddress target = target_of(sum.other);
    calls_.add(SourceCallKind::whole, "multiply", {operation().outputs, constant(0), gy(), target});
    arrive(sum.other, target);
  }
  void write(const SourceConcat& concat) {
    const std::size_t input = operation().input;
    const ConcatOffsets offsets(concat, network_.width(input), network_.width(concat.other));
    pass_on(input, offset_by(gy(), offsets.input));
    pass_on(concat.other, offset_by(gy(), offsets.other));
  }
  template <class Symmetric>
  void write(const Symmetric& /*kind*/) {}

  const SourceNetwork& network_;
  const Constants& constants_;
  const Tape& tape_;
  std::vector<bool> has_gradient_;  // of each value, so far
  SourcePass pass_;
  Calls calls_;
  SymmetricSlopes slopes_;
  Temporary scaled_;
  Temporary added_;
  std::size_t operation_ = 0;
};

}  // namespace

bool SourcePass::uses(const std::string& buffer) const {
  return std::any_of(calls.begin(), calls.end(), [&](const SourceCall& call) {
    return std::any_of(call.arguments.begin(), call.arguments.end(), [&](const SourceArgument& argument) {
      const auto* address = std::get_if<SourceAddress>(&argument);
      return address != nullptr && address->buffer == buffer;
    });
  });
}

std::int64_t SourcePass::buffer_width() const {
  std::int64_t width = 0;
  for (const SourceBuffer& buffer : buffers) width += buffer.width;
  return width;
}

std::int64_t SourcePlan::numbers() const {
  std::int64_t count = 0;
  for (const SourceConstant& constant : constants) count += static_cast<std::int64_t>(constant.values.size());
  return count;
}

SourcePlan plan_source(const SourceNetwork& network, const std::set<std::string>& reserved,
                       bool derivatives) {
  SourcePlan plan;
  plan.inputs = network.inputs;
  plan.outputs = network.outputs();
  const Constants constants(network, reserved, plan);
  plan.forward = forward_pass(network, constants);
  if (!derivatives) return plan;
  const Tape tape(network);
  plan.tape = tape.size();
  plan.tape_forward = tape_pass(network, constants, tape);
  plan.tangent = TangentPass(network, constants, tape).take();
  plan.pullback = PullbackPass(network, constants, tape).take();
  return plan;
}

std::set<std::string> routines_of(const SourcePass& pass) {
  std::set<std::string> routines;
  for (const SourceCall& call : pass.calls) routines.insert(call.routine);
  return routines;
}

}  // namespace mylos
