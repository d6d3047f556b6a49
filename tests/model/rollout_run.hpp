// Rollout: a model of copies with a batch, and what its gradients are compared with.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "model/reference_rollout.hpp"
#include "model/schedules.hpp"
#include "mylos/base/execution.hpp"
#include "support/device_values.hpp"

namespace mylos::rollout_test {

using test::Numbers;
using test::RolloutCase;

constexpr std::int64_t samples = 4;
constexpr std::uint64_t seed = 11;
constexpr float loss_scale = 64;

/// A model of copies with a batch.
class Rollout {
 public:
  /// `schedule`: of the planned chain; none: stores all.
  explicit Rollout(const RolloutCase& of, std::optional<Schedule> schedule = std::nullopt)
      : case_(of), rows_("rows", 1 << 14), targets_("targets", 1 << 14) {
    const ModelOptions model = test::rollout_model(of);
    PrecisionOptions precision;
    precision.compute = of.compute;
    const Chain chain = make_chain(model, precision, seed, true);
    chains = make_rollout_chain(chain, model, precision, seed, test::rollout_options(of));
    model_ = std::make_unique<TrainingModel>(chain, make_parameter_layout(chain, 1 << 20, 1), *engines_,
                                             samples, std::move(schedule), 0, &chains);
    model_->parameters().initialize(exec_, seed);
    std::vector<FeedbackScaling> scalings(test::inputs_of_point);
    for (std::size_t s = 0; s < test::states; ++s) scalings[test::level + s] = test::rollout_scalings[s];
    model_->rollout()->store().set_scaling(scalings);
    row_ = test::rollout_points * (test::inputs_of_point + of.steps - 1);
    input_ = rows_.tensor(0, model_->chain().input_type(), samples, row_);
    test::set_values(input_, test::drawn_values(samples * row_, 1));
    target_values_ = test::drawn_values(samples * target_row(), 2);
    test::copy_to_device(target_values_.data(), targets_.data(), target_values_.size() * sizeof(float));
    exec_.fence();
  }

  [[nodiscard]] std::int64_t target_row() const { return test::rollout_points * case_.steps * test::states; }

  /// A step in micro-batches of `count` samples.
  void run(std::int64_t copies, std::int64_t count = samples) {
    sums_.set({});
    done.clear();
    model_->use_copies(copies);
    bool accumulate = false;
    for (std::int64_t first = 0; first < samples; first += count) {
      const StepContext context{.exec = exec_,
                                .engines = *engines_,
                                .step = step_.data(),
                                .first_sample = static_cast<std::uint64_t>(first)};
      const Truth truth{.targets = reinterpret_cast<const float*>(targets_.data()) + first * target_row()};
      for (std::int64_t pass = 0; pass < model_->rollout()->passes(); ++pass) {
        model_->forward(context, input_.row_range(first, count), nullptr, nullptr, pass);
        if (!model_->rollout()->has_loss(pass)) continue;
        model_->loss_and_seed(context, truth, {scale_.data(), 1.0f / samples, accumulate}, sums_.data());
        model_->backward(context, accumulate, [this](std::size_t stage) { done.push_back(stage); });
        accumulate = true;
      }
    }
    exec_.fence();
  }

  [[nodiscard]] double loss() const { return sums_.get().loss; }
  [[nodiscard]] std::vector<std::vector<float>> gradients() const {
    std::vector<std::vector<float>> all;
    for (const ParameterSlot& slot : model_->parameters().layout().slots)
      all.push_back(test::values_of(model_->parameters().gradient(slot)));
    return all;
  }
  [[nodiscard]] TrainingModel& model() { return *model_; }

  /// Compares the gradient of each parameter with the difference of losses along it.
  void expect_differences(std::int64_t copies, double tolerance) {
    run(copies);
    const std::vector<std::vector<float>> all = gradients();
    for (std::size_t slot = 0; slot < all.size(); ++slot) {
      const ParameterSlot& of = model_->parameters().layout().slots[slot];
      const Tensor weight = ParameterTensors(model_->parameters().weights(of.block))[of.spec.name];
      const std::vector<float> values = test::values_of(weight);
      double length = 0;
      for (const float each : all[slot]) length += static_cast<double>(each) * static_cast<double>(each);
      length = std::sqrt(length);
      ASSERT_GT(length, 0) << of.path();
      constexpr double distance = 0.01;
      const auto loss_at = [&](double step) {
        std::vector<float> moved = values;
        for (std::size_t e = 0; e < moved.size(); ++e)
          moved[e] += static_cast<float>(step * static_cast<double>(all[slot][e]) / length);
        test::set_values(weight, moved);
        run(copies);
        return loss();
      };
      const double difference = (loss_at(distance) - loss_at(-distance)) / (2 * distance);
      test::set_values(weight, values);
      EXPECT_NEAR(length, difference * static_cast<double>(loss_scale) / samples, tolerance * length)
          << of.path();
    }
  }

  /// The step in double, with the model's own (rounded) weights and rows.
  void expect_reference(std::int64_t copies, double tolerance) {
    test::Weights weights;
    for (std::size_t stage = 0; stage < model_->chain().blocks.size(); ++stage) {
      for (const NamedTensor& tensor : model_->parameters().weights(stage))
        weights[model_->chain().stage_name(stage) + "/" + tensor.name] = test::doubles_of(tensor);
    }
    const Numbers rows = test::doubles_of(input_);
    std::vector<Numbers> row(samples), target(samples);
    std::vector<std::vector<Numbers>> frozen(samples);
    for (std::size_t i = 0; i < samples; ++i) {
      const auto width = static_cast<std::size_t>(row_);
      const auto targets = static_cast<std::size_t>(target_row());
      row[i].assign(rows.data() + i * width, rows.data() + (i + 1) * width);
      target[i].assign(target_values_.data() + i * targets, target_values_.data() + (i + 1) * targets);
      frozen[i] = test::inputs_of_copies(case_, weights, row[i], copies);
    }
    const auto loss_now = [&] {
      double sum = 0;
      for (std::size_t i = 0; i < samples; ++i) {
        sum += test::loss_of_sample(
            case_, weights, case_.detach ? frozen[i] : test::inputs_of_copies(case_, weights, row[i], copies),
            target[i]);
      }
      return sum;
    };
    EXPECT_NEAR(loss(), loss_now(), tolerance * loss_now());
    for (const ParameterSlot& slot : model_->parameters().layout().slots) {
      Numbers exact = test::central_differences(weights.at(slot.path()), loss_now);
      double largest = 0;
      for (double& value : exact) {
        value *= static_cast<double>(loss_scale) / samples;
        largest = std::max(largest, std::abs(value));
      }
      ASSERT_GT(largest, 0) << slot.path();
      const std::vector<float> gradient = test::values_of(model_->parameters().gradient(slot));
      for (std::size_t e = 0; e < exact.size(); ++e)
        EXPECT_NEAR(gradient[e], exact[e], tolerance * largest) << slot.path() << " " << e;
    }
  }

  RolloutChain chains;
  std::vector<std::size_t> done;  // stages, in the order in which their gradients were complete

 private:
  RolloutCase case_;
  Execution exec_;
  std::unique_ptr<EngineSet> engines_ = make_engines({});
  std::unique_ptr<TrainingModel> model_;
  std::int64_t row_ = 0;
  Arena rows_, targets_;
  Tensor input_;
  std::vector<float> target_values_;
  test::DeviceValue<std::uint64_t> step_{3};
  test::DeviceValue<float> scale_{loss_scale};
  test::DeviceValue<LossSums> sums_;
};

}  // namespace mylos::rollout_test
