#include <algorithm>

#include "mylos/model/source/source_passes.hpp"

namespace mylos {
namespace {

/// The calls that most operations have in both directions: their derivative is a diagonal or symmetric
/// matrix, by which `to` = derivative times `from`. Returns false for the others.
class SymmetricSlopes {
 public:
  SymmetricSlopes(const SourceNetwork& network, const SourceConstants& constants, const SourceTape& tape,
                  SourceCalls& calls)
      : network_(network), constants_(constants), tape_(tape), calls_(calls) {}

  bool add(std::size_t operation, const SourceAddress& source, const SourceAddress& target) {
    operation_ = operation;
    n_ = network_.operations[operation].outputs / network_.operations[operation].points;
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
  bool add_whole(const std::string& routine, std::vector<SourceArgument> arguments) {
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
  bool write(const SourceGather& /*gather*/) { return false; }
  bool write(const SourceMaxPool& /*pool*/) { return false; }
  bool write(const SourceAveragePool& /*pool*/) { return false; }

  const SourceNetwork& network_;
  const SourceConstants& constants_;
  const SourceTape& tape_;
  SourceCalls& calls_;
  std::size_t operation_ = 0;
  std::int64_t n_ = 0;
  SourceAddress source_;
  SourceAddress target_;
};

const char* slope_of(const SourceNorm& norm) {
  return norm.type == NormType::rmsnorm ? "rmsnorm_slope" : "layernorm_slope";
}

/// A buffer for derivatives that are not in their final array yet, as wide as the widest value in it.
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
  TangentPass(const SourceNetwork& network, const SourceConstants& constants, const SourceTape& tape)
      : network_(network),
        constants_(constants),
        tape_(tape),
        calls_(pass_),
        slopes_(network, constants, tape, calls_),
        scaled_(pass_, "scaled") {}

  SourcePass take() {
    for (std::size_t i = 0; i < network_.operations.size(); ++i) {
      calls_.begin(network_.operations[i]);
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

  [[nodiscard]] std::int64_t width_at_point(std::size_t value) const {
    return network_.width(value) / operation().points;
  }
  [[nodiscard]] std::int64_t outputs() const { return width_at_point(operation_ + 1); }

  void write(const SourceLinear& linear) {
    const std::int64_t inputs = width_at_point(operation().input);
    if (has_few_outputs(linear)) {
      calls_.add(SourceCallKind::whole, "row_products", {outputs(), inputs, constant(0), dx(), dy()});
    } else {
      calls_.add(SourceCallKind::whole, "sum_of_rows", {inputs, outputs(), constant(0), dx(), dy()});
    }
  }
  void write(const SourceGather& gather) {
    calls_.add(SourceCallKind::whole, "gather", arguments_of(gather.windows, {dx(), dy()}));
  }
  void write(const SourceMaxPool& pool) {
    calls_.add(SourceCallKind::whole, "max_pool_tangent",
               arguments_of(pool.windows, {tape_.address("", operation().input), dx(), dy()}));
  }
  void write(const SourceAveragePool& pool) {
    calls_.add(SourceCallKind::whole, "average_pool", arguments_of(pool.windows, {dx(), dy()}));
  }
  void write(const SourceNorm& norm) {
    const std::int64_t n = outputs();
    const SourceAddress scaled = scaled_.of(operation().outputs);
    calls_.add(SourceCallKind::whole, slope_of(norm),
               {n, SourceNumber{static_cast<double>(norm.epsilon)}, tape_.address("", operation().input),
                dx(), scaled});
    calls_.add(SourceCallKind::whole, "multiply", {n, constant(0), scaled, dy()});
  }
  void write(const SourceAdd& sum) {
    const std::int64_t n = outputs();
    calls_.copy(n, dx(), dy());
    if (sum.factor.empty()) return calls_.add_up(n, derivative(sum.other), dy());
    calls_.add(SourceCallKind::each_element, "add_scaled", {n, constant(0), derivative(sum.other), dy()});
  }
  void write(const SourceConcat& concat) {
    const std::int64_t n = width_at_point(operation().input);
    const std::int64_t others = width_at_point(concat.other);
    const ConcatOffsets offsets(concat, n, others);
    calls_.copy(n, dx(), offset_by(dy(), offsets.input));
    calls_.copy(others, derivative(concat.other), offset_by(dy(), offsets.other));
  }
  template <class Symmetric>
  void write(const Symmetric& /*kind*/) {}

  const SourceNetwork& network_;
  const SourceConstants& constants_;
  const SourceTape& tape_;
  SourcePass pass_;
  SourceCalls calls_;
  SymmetricSlopes slopes_;
  Temporary scaled_;
  std::size_t operation_ = 0;
};

/// From the last operation to the first. The first gradient of a value that arrives is written to its array,
/// others are added to it.
class PullbackPass {
 public:
  PullbackPass(const SourceNetwork& network, const SourceConstants& constants, const SourceTape& tape)
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
      calls_.begin(network_.operations[i]);
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
    if (has_gradient_[value]) calls_.add_up(width_at_point(value), target, gradient(value));
    has_gradient_[value] = true;
  }
  void pass_on(std::size_t value, const SourceAddress& source) {
    if (has_gradient_[value]) {
      calls_.add_up(width_at_point(value), source, gradient(value));
    } else {
      calls_.copy(width_at_point(value), source, gradient(value));
    }
    has_gradient_[value] = true;
  }

  [[nodiscard]] std::int64_t width_at_point(std::size_t value) const {
    return network_.width(value) / operation().points;
  }
  /// Writes the gradient of the operation's input by one call.
  void write_input(const char* routine, std::vector<SourceArgument> arguments) {
    const std::size_t input = operation().input;
    const SourceAddress target = target_of(input);
    arguments.emplace_back(target);
    calls_.add(SourceCallKind::whole, routine, std::move(arguments));
    arrive(input, target);
  }

  void write(const SourceLinear& linear) {
    const std::int64_t inputs = width_at_point(operation().input);
    const std::int64_t outputs = width_at_point(operation_ + 1);
    if (has_few_outputs(linear)) return write_input("sum_of_rows", {outputs, inputs, constant(0), gy()});
    write_input("row_products", {inputs, outputs, constant(0), gy()});
  }
  void write(const SourceGather& gather) {
    write_input("gather_pullback", arguments_of(gather.windows, {gy()}));
  }
  void write(const SourceMaxPool& pool) {
    write_input("max_pool_pullback",
                arguments_of(pool.windows, {tape_.address("", operation().input), gy()}));
  }
  void write(const SourceAveragePool& pool) {
    write_input("average_pool_pullback", arguments_of(pool.windows, {gy()}));
  }
  void write(const SourceNorm& norm) {
    const std::size_t input = operation().input;
    const std::int64_t n = width_at_point(operation_ + 1);
    const SourceAddress scaled = scaled_.of(operation().outputs);
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
    calls_.add(SourceCallKind::whole, "multiply", {width_at_point(sum.other), constant(0), gy(), target});
    arrive(sum.other, target);
  }
  void write(const SourceConcat& concat) {
    const std::size_t input = operation().input;
    const ConcatOffsets offsets(concat, width_at_point(input), width_at_point(concat.other));
    pass_on(input, offset_by(gy(), offsets.input));
    pass_on(concat.other, offset_by(gy(), offsets.other));
  }
  template <class Symmetric>
  void write(const Symmetric& /*kind*/) {}

  const SourceNetwork& network_;
  const SourceConstants& constants_;
  const SourceTape& tape_;
  std::vector<bool> has_gradient_;  // of each value, so far
  SourcePass pass_;
  SourceCalls calls_;
  SymmetricSlopes slopes_;
  Temporary scaled_;
  Temporary added_;
  std::size_t operation_ = 0;
};

}  // namespace

SourcePass tangent_pass(const SourceNetwork& network, const SourceConstants& constants,
                        const SourceTape& tape) {
  return TangentPass(network, constants, tape).take();
}

SourcePass pullback_pass(const SourceNetwork& network, const SourceConstants& constants,
                         const SourceTape& tape) {
  return PullbackPass(network, constants, tape).take();
}

}  // namespace mylos
