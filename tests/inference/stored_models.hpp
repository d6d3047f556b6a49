// Files of small networks for Model, what `mylos predict` would compute with them, and arrays of any layout.
#pragma once

#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "inference/networks.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/config/deck.hpp"
#include "mylos/inference/inference_model.hpp"
#include "mylos/inference/model.hpp"
#include "mylos/inference/predict.hpp"
#include "mylos/kernels/engines/engine_set.hpp"

namespace mylos::test {

/// A perceptron of 6 inputs and 4 outputs.
inline Options vector_options(DType compute, Loss loss = losses::Mse{}) {
  Options options;
  options.run.steps = 10;
  options.model = perceptron_options();
  options.model.loss = loss;
  options.precision.compute = compute;
  return options;
}

/// Convolutions of [4, 5, 2] samples; 3 channels on the same grid.
inline Options grid_options(DType compute) {
  Options options;
  options.run.steps = 10;
  options.model.type = ModelType::chain;
  options.model.shape = options.data.shape = {4, 5, 2};
  options.model.inputs = 40;
  options.model.outputs = 60;
  options.model.loss = losses::Mse{};
  options.model.chain = {{.kind = kinds::Conv{.kernel = {3}},
                          .outputs = 24,
                          .norm = NormType::batchnorm,
                          .activation = Activation::relu},
                         {.kind = kinds::Conv{.kernel = {3}}, .outputs = 3}};
  options.precision.compute = compute;
  return options;
}

/// Shifts and scales for a network's values.
inline ColumnScaling lively_scaling(std::int64_t columns, double shift, double scale) {
  ColumnScaling scaling;
  for (std::int64_t i = 0; i < columns; ++i) {
    scaling.shift.push_back(shift + 0.01 * static_cast<double>(i));
    scaling.scale.push_back(scale / (1 + 0.1 * static_cast<double>(i)));
  }
  return scaling;
}

/// The file of a network, and the network as an InferenceModel.
class StoredModel {
 public:
  /// `texts`: what else the file says, as /samples/target_names.
  StoredModel(RankGroup& ranks, const std::string& path, Options options, bool is_scaled,
              const std::vector<StateText>& texts = {})
      : options_(std::move(options)), engines_(make_engines(options_.kernels)) {
    const Chain chain = make_chain(options_.model, options_.precision, 1, false);
    TrainingModel trained(chain, *engines_, 4, 1 << 20, 1);
    set_lively_state(trained);
    if (is_scaled) {
      normalizer_ = {lively_scaling(chain.inputs(), 0.3, 1.7), lively_scaling(chain.outputs(), -2, 0.6)};
    }
    write_network(ranks, path, trained,
                  {.deck = resolve(options_), .normalizer = normalizer_, .texts = texts});
    model_ = std::make_unique<InferenceModel>(chain, *engines_, 1024);
    model_->read(CheckpointReader(ranks, path));
  }

  [[nodiscard]] std::int64_t inputs() const { return model_->chain().inputs(); }
  [[nodiscard]] std::int64_t outputs() const { return model_->chain().outputs(); }

  /// Returns what `mylos predict` computes of rows of inputs: the same functions, step by step.
  [[nodiscard]] std::vector<float> predicted(std::vector<float> rows, Units units = Units::data) {
    const Execution exec;
    const Chain& chain = model_->chain();
    const auto samples = static_cast<std::int64_t>(rows.size()) / chain.inputs();
    if (units == Units::data) normalizer_.inputs.apply(rows, rows);
    Arena arena("inputs", rows.size() * sizeof(float));
    const Tensor tensor = arena.tensor(0, chain.input_type(), samples, chain.inputs());
    set_values(tensor, rows);
    const StepContext context{.exec = exec, .engines = *engines_, .training = false};
    model_->passes().forward(context, tensor);
    exec.fence();
    std::vector<float> outputs = values_of(model_->passes().head_outputs(context, 0, samples));
    if (units == Units::data) interpret_outputs(chain.prediction(), chain.outputs(), normalizer_, outputs);
    return outputs;
  }

 private:
  Options options_;
  Normalizer normalizer_;
  std::unique_ptr<EngineSet> engines_;
  std::unique_ptr<InferenceModel> model_;
};

template <class E>
E element_of(double value) {
  if constexpr (std::is_same_v<E, double>) {
    return value;
  } else {
    return from_float<E>(static_cast<float>(value));
  }
}
template <class E>
float float_of(E value) {
  if constexpr (std::is_same_v<E, double>) {
    return static_cast<float>(value);
  } else {
    return to_float(value);
  }
}
template <class E>
inline constexpr ElementType element_type = detail::element_type_of<E>();

/// An array in host memory with gaps between its elements, which nobody may write.
template <class E>
class StridedArray {
 public:
  /// `fastest`: the dimensions from the smallest stride to the largest. `gap`: the smallest stride.
  StridedArray(std::vector<std::int64_t> extents, const std::vector<std::size_t>& fastest, std::int64_t gap)
      : extents_(std::move(extents)), strides_(extents_.size()) {
    std::int64_t stride = gap;
    for (const std::size_t d : fastest) {
      strides_[d] = stride;
      stride = stride * extents_[d] + (gap > 1 ? 3 : 0);
    }
    memory_.assign(static_cast<std::size_t>(stride + 5), element_of<E>(-77.0));
  }

  [[nodiscard]] std::int64_t size() const {
    return std::accumulate(extents_.begin(), extents_.end(), std::int64_t{1}, std::multiplies<>());
  }
  /// Returns the element that a row-major array would have there.
  [[nodiscard]] E& at(std::int64_t index) {
    std::int64_t offset = 0;
    for (std::size_t d = extents_.size(); d-- > 0; index /= extents_[d])
      offset += index % extents_[d] * strides_[d];
    return memory_[static_cast<std::size_t>(offset)];
  }
  /// Returns how many elements differ from what the constructor set.
  [[nodiscard]] std::int64_t written() const {
    const E untouched = element_of<E>(-77.0);
    return std::count_if(memory_.begin(), memory_.end(), [&](const E& element) {
      return std::memcmp(&element, &untouched, sizeof element) != 0;
    });
  }

  [[nodiscard]] Array array() { return described<Array>(memory_.data()); }
  [[nodiscard]] ConstArray const_array() const { return described<ConstArray>(memory_.data()); }

 private:
  template <class Description, class Pointer>
  [[nodiscard]] Description described(Pointer* data) const {
    Description array;
    array.data = data;
    array.type = element_type<E>;
    array.rank = static_cast<int>(extents_.size());
    std::copy(extents_.begin(), extents_.end(), array.extents.begin());
    std::copy(strides_.begin(), strides_.end(), array.strides.begin());
    return array;
  }

  std::vector<std::int64_t> extents_;
  std::vector<std::int64_t> strides_;
  std::vector<E> memory_;
};

template <class E>
bool same_bits(E a, E b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

}  // namespace mylos::test
