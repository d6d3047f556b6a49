// Staging: what the network is told of a batch of the host.
#include "mylos/train/step/staging.hpp"

#include <gtest/gtest.h>

#include "mylos/base/execution.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/model/network/mlp.hpp"
#include "support/device_values.hpp"

namespace mylos::staging_test {

TEST(Staging, BringsInputsAnswersAndTheFirstSamplesPlace) {
  ModelOptions model;
  model.inputs = 2;
  model.outputs = 3;
  model.loss = losses::Mse{};
  PrecisionOptions precision;
  precision.compute = DType::fp32;
  const Chain chain = make_mlp(model, precision, 1, false);
  const std::vector<float> inputs{1, 2, 3, 4};
  const std::vector<float> targets{5, 6, 7, 8, 9, 10};
  const Staging staging(chain, 4);
  // The index in the global batch: dropout's random numbers are those of the sample, not of its row here.
  const MicroBatch staged = staging.stage(
      Execution(),
      {.inputs = inputs.data(), .targets = targets.data(), .samples = 2, .rows = 2, .first_sample = 34});
  EXPECT_EQ(staged.first_sample, 34u);
  EXPECT_EQ(test::values_of(staged.inputs), inputs);
  std::vector<float> seen(6);
  test::copy_to_host(staged.truth.targets, seen.data(), seen.size() * sizeof(float));
  EXPECT_EQ(seen, targets);
  EXPECT_EQ(staged.truth.labels, nullptr);
}

/// Batch n is full of n. Each call spoils the batch before the last, once its copy is over.
class CountingReader final : public BatchReader {
 public:
  explicit CountingReader(std::int64_t values)
      : buffers_{Buffer("first", size(values)), Buffer("second", size(values))} {}
  const Batch& next() override {
    EXPECT_EQ(kept_, given_) << "a batch was not kept until it is read";
    ++given_;
    const Buffer& buffer = buffers_[slot()];
    read_[slot()].wait();
    for (std::size_t i = 0; i < buffer.size(); ++i) buffer(i) = static_cast<float>(number_);
    batch_ = {.inputs = buffer.data(),
              .targets = buffer.data(),
              .samples = 1,
              .rows = 1,
              .first_sample = number_++};
    return batch_;
  }
  void keep_until_read(const Execution& copies) override {
    ++kept_;
    read_[1 - slot()].record(copies);  // next() has counted on
  }
  void seek(std::int64_t position) override {
    for (const DeviceEvent& event : read_) event.wait();
    for (const Buffer& buffer : buffers_) Kokkos::deep_copy(buffer, -1.0f);
    number_ = position;
  }

 private:
  [[nodiscard]] std::size_t slot() const { return static_cast<std::size_t>(number_ % 2); }

  using Buffer = Kokkos::View<float*, Kokkos::SharedHostPinnedSpace>;
  static std::size_t size(std::int64_t values) { return static_cast<std::size_t>(values); }
  std::array<Buffer, 2> buffers_;
  std::array<DeviceEvent, 2> read_;
  int given_ = 0;
  int kept_ = 0;
  std::int64_t number_ = 0;
  Batch batch_;
};

/// Keeps a device busy for about a millisecond.
void take_time(const Execution& exec, double* sum) {
  Kokkos::parallel_for(
      "take time", Kokkos::RangePolicy<Execution>(exec, 0, 1), KOKKOS_LAMBDA(const int) {
        for (int i = 0; i < 20000; ++i) *sum += Kokkos::sqrt(*sum + i);
      });
}

// A network that is slow to read must still find its batch, and the reader may fill a buffer as soon as it is
// asked to.
TEST(StagedBatches, ABatchIsWholeUntilTheNetworkHasReadIt) {
  constexpr std::int64_t width = 1 << 16;
  constexpr std::int64_t steps = 20;
  ModelOptions model;
  model.inputs = model.outputs = width;
  model.hidden = {};
  model.loss = losses::Mse{};
  PrecisionOptions precision;
  precision.compute = DType::fp32;
  const Chain chain = make_mlp(model, precision, 1, false);
  StagedBatches batches(std::make_unique<CountingReader>(width), chain, 1);
  const Execution exec;
  const test::DeviceValue<double> sum;
  const Arena seen("seen", static_cast<std::size_t>(2 * steps * width) * sizeof(float));
  const Tensor rows = seen.tensor(0, DType::fp32, 2 * steps, width);
  for (std::int64_t step = 0; step < steps; ++step) {
    if (step == steps / 2) batches.seek(100);
    const MicroBatch batch = batches.next(exec);
    take_time(exec, sum.data());
    convert(exec, batch.inputs, rows.row_range(2 * step, 1));
    const ConstTensor targets(batch.truth.targets, DType::fp32, 1, width);
    convert(exec, targets, rows.row_range(2 * step + 1, 1));
  }
  exec.fence();
  const std::vector<float> values = test::values_of(rows);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto step = static_cast<std::int64_t>(i) / (2 * width);
    const std::int64_t number = step < steps / 2 ? step : 100 + step - steps / 2;
    ASSERT_EQ(values[i], static_cast<float>(number)) << i;
  }
}

}  // namespace mylos::staging_test
