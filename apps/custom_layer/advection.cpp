#include "advection.hpp"

#include <mylos/base/errors/combinations.hpp>

#include <cstdint>

namespace {

using mylos::BlockGradients;
using mylos::BlockMemory;
using mylos::from_float;
using mylos::StepContext;
using mylos::to_float;

/// A sample is a line of points with channels last.
struct Line {
  std::int64_t points;
  std::int64_t channels;

  [[nodiscard]] KOKKOS_FUNCTION std::int64_t left_of(std::int64_t column) const {
    return column < channels ? column + (points - 1) * channels : column - channels;
  }
  [[nodiscard]] KOKKOS_FUNCTION std::int64_t right_of(std::int64_t column) const {
    return column < (points - 1) * channels ? column + channels : column - (points - 1) * channels;
  }
};

/// Every value of a batch: [rows, columns].
auto all_values(const mylos::Execution& exec, const mylos::ConstTensor& of) {
  return Kokkos::MDRangePolicy<mylos::Execution, Kokkos::Rank<2>, Kokkos::IndexType<std::int64_t>>(
      exec, {0, 0}, {of.rows(), of.columns()});
}

template <class T, class W>
void forward_as(const mylos::Execution& exec, Line line, const mylos::ConstTensor& input,
                const mylos::Tensor& speed, const mylos::Tensor& output) {
  const auto x = input.matrix<T>();
  const auto c = speed.flat<W>();
  const auto y = output.matrix<T>();
  Kokkos::parallel_for(
      "advection forward", all_values(exec, input),
      KOKKOS_LAMBDA(const std::int64_t row, const std::int64_t column) {
        const float here = to_float(x(row, column));
        const float left = to_float(x(row, line.left_of(column)));
        const float own = to_float(c(column % line.channels));
        y(row, column) = from_float<T>(here - own * (here - left));
      });
}

template <class T, class W>
void input_gradient_as(const mylos::Execution& exec, Line line, const mylos::Tensor& of_output,
                       const mylos::Tensor& speed, const mylos::Tensor& of_input) {
  const auto dy = of_output.matrix<T>();
  const auto c = speed.flat<W>();
  const auto dx = of_input.matrix<T>();
  Kokkos::parallel_for(
      "advection input gradient", all_values(exec, of_input),
      KOKKOS_LAMBDA(const std::int64_t row, const std::int64_t column) {
        const float here = to_float(dy(row, column));
        const float right = to_float(dy(row, line.right_of(column)));
        const float own = to_float(c(column % line.channels));
        dx(row, column) = from_float<T>(here + own * (right - here));
      });
}

/// Adds in the same order for every number of threads, so that a run can be repeated bit for bit.
template <class T, class G>
void speed_gradient_as(const mylos::Execution& exec, Line line, const mylos::ConstTensor& input,
                       const mylos::Tensor& of_output, const mylos::Tensor& of_speed, bool accumulate) {
  const auto x = input.matrix<T>();
  const auto dy = of_output.matrix<T>();
  const auto dc = of_speed.flat<G>();
  const std::int64_t rows = input.rows();
  Kokkos::parallel_for(
      "advection speed gradient", Kokkos::RangePolicy<mylos::Execution>(exec, 0, line.channels),
      KOKKOS_LAMBDA(const std::int64_t channel) {
        double sum = accumulate ? static_cast<double>(to_float(dc(channel))) : 0;
        for (std::int64_t row = 0; row < rows; ++row) {
          for (std::int64_t column = channel; column < line.points * line.channels; column += line.channels) {
            const float here = to_float(x(row, column));
            const float left = to_float(x(row, line.left_of(column)));
            sum -= static_cast<double>(to_float(dy(row, column))) * (here - left);
          }
        }
        dc(channel) = from_float<G>(static_cast<float>(sum));
      });
}

class AdvectionBlock final : public mylos::Block {
 public:
  AdvectionBlock(const mylos::CustomLayerInput& input, Line line)
      : line_(line),
        signature_{.name = input.name,
                   .kind = "advection",
                   .inputs = line.points * line.channels,
                   .outputs = line.points * line.channels,
                   .input_type = input.type,
                   .output_type = input.type,
                   .compute_type = input.compute} {
    const auto given = input.settings.find("speed");
    speed_ = {.name = "speed",
              .columns = line.channels,
              .type = input.compute,
              .gradient_type = input.gradient,
              .initial_value = given == input.settings.end() ? 0.5F : static_cast<float>(given->second)};
  }

  [[nodiscard]] const mylos::Signature& signature() const override { return signature_; }
  [[nodiscard]] std::vector<mylos::ParameterSpec> parameters() const override { return {speed_}; }

  /// Backward reads the input again: nothing is saved, and there is no workspace.
  [[nodiscard]] mylos::BlockCost cost(const mylos::Engines& /*engines*/, std::int64_t rows) const override {
    mylos::BlockCost cost = mylos::elementwise_cost(signature_, rows);
    cost.forward_flops *= 3;
    cost.backward_flops *= 6;
    return cost;
  }

  void forward(const StepContext& context, const BlockMemory& memory) const override {
    mylos::dispatch(signature_.input_type, [&]<class T>(mylos::TypeTag<T>) {
      mylos::dispatch(speed_.type, [&]<class W>(mylos::TypeTag<W>) {
        forward_as<T, W>(context.exec, line_, memory.input, memory.weights["speed"], memory.output);
      });
    });
  }

  void backward(const StepContext& context, const BlockMemory& memory,
                const BlockGradients& gradients) const override {
    mylos::dispatch(signature_.input_type, [&]<class T>(mylos::TypeTag<T>) {
      mylos::dispatch(speed_.gradient_type, [&]<class G>(mylos::TypeTag<G>) {
        speed_gradient_as<T, G>(context.exec, line_, memory.input, gradients.output,
                                gradients.weights["speed"], gradients.accumulate);
      });
      if (gradients.input.empty()) return;
      mylos::dispatch(speed_.type, [&]<class W>(mylos::TypeTag<W>) {
        input_gradient_as<T, W>(context.exec, line_, gradients.output, memory.weights["speed"],
                                gradients.input);
      });
    });
  }

 private:
  Line line_;
  mylos::Signature signature_;
  mylos::ParameterSpec speed_;
};

}  // namespace

mylos::CustomBlock Advection::make(const mylos::CustomLayerInput& input) const {
  if (input.shape.size() != 2)
    mylos::fail_input(mylos::errors::bad_layer,
                      "model.layers: layer '{}' moves what lies on a line, not on {} axes", input.name,
                      input.shape.size() - 1);
  const Line line{input.shape[0], input.shape[1]};
  return {std::make_unique<const AdvectionBlock>(input, line), input.shape};
}
