// A small regression on views, and what tests look at in its trainer.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "mylos/base/numbers/random.hpp"
#include "mylos/base/numbers/random_words.hpp"
#include "mylos/mylos.hpp"
#include "mylos/train/step/trainer.hpp"
#include "support/device_values.hpp"
#include "support/refusal.hpp"

namespace mylos::online_support {

using Matrix = Kokkos::View<float**, Kokkos::LayoutRight, Device>;
using Labels = Kokkos::View<std::int32_t*, Device>;

inline constexpr std::int64_t input_width = 6;
inline constexpr std::int64_t output_width = 3;
inline constexpr std::int64_t most = 16;  // samples of a rank

inline int rank_of(MPI_Comm ranks) {
  int rank = 0;
  MPI_Comm_rank(ranks, &rank);
  return rank;
}
inline int size_of(MPI_Comm ranks) {
  int size = 1;
  MPI_Comm_size(ranks, &size);
  return size;
}

inline Options online_options(DType compute = DType::fp32) {
  Options options;
  options.model.inputs = input_width;
  options.model.outputs = output_width;
  options.model.hidden = {24, 16};
  options.model.activation = Activation::tanh;
  options.model.loss = losses::Mse{};
  options.data.micro_batch = most;
  options.run.steps = 100;
  options.precision.compute = compute;
  options.optimizer.lr = 5e-3;
  options.optimizer.clip_norm = 0.5;
  options.communication.timeout_s = 30;
  return options;
}

/// A chain of two dense layers, the first of them with batch normalisation.
inline Options batch_normalised_options(NormOver over) {
  Options options = online_options();
  options.model.type = ModelType::chain;
  options.model.hidden.clear();
  options.model.activation = Options().model.activation;
  options.model.chain = {{.kind = kinds::Dense{}, .name = "first", .outputs = 8}, {.kind = kinds::Dense{}}};
  options.model.chain[0].norm = NormType::batchnorm;
  options.model.chain[0].norm_over = over;
  return options;
}

/// Samples [first, first + count) of step `step`: a pure function of their numbers.
struct Samples {
  Matrix inputs;
  Matrix targets;

  Samples(std::uint64_t step, std::int64_t first, std::int64_t count)
      : inputs("inputs", static_cast<std::size_t>(count), static_cast<std::size_t>(input_width)),
        targets("targets", static_cast<std::size_t>(count), static_cast<std::size_t>(output_width)) {
    const RandomStream stream(3, RandomPurpose::sampling, "online");
    const auto x = Kokkos::create_mirror_view(inputs);
    const auto t = Kokkos::create_mirror_view(targets);
    for (std::size_t row = 0; row < x.extent(0); ++row) {
      const auto sample = static_cast<std::uint64_t>(first) + row;
      for (std::size_t i = 0; i < x.extent(1); ++i)
        x(row, i) = 2 * uniform_from(stream.word(step, sample, i)) - 1;
      for (std::size_t o = 0; o < t.extent(1); ++o) {
        double sum = 0;
        for (std::size_t i = 0; i < x.extent(1); ++i)
          sum += std::sin(1.0 + static_cast<double>(3 * o + i)) * x(row, i);
        t(row, o) = static_cast<float>(std::sin(sum));
      }
    }
    Kokkos::deep_copy(inputs, x);
    Kokkos::deep_copy(targets, t);
  }
};

/// How many samples a rank brings to a step: from none to the most that it may.
inline std::int64_t count_of(int rank, std::uint64_t step) {
  return (5 * rank + 7 * static_cast<std::int64_t>(step) + 3) % (most + 1);
}

/// The samples of all ranks lie one behind the other.
inline Samples share_of(int rank, std::uint64_t step) {
  std::int64_t first = 0;
  for (int other = 0; other < rank; ++other) first += count_of(other, step);
  return {step, first, count_of(rank, step)};
}
inline Samples all_of(int ranks, std::uint64_t step) {
  std::int64_t count = 0;
  for (int rank = 0; rank < ranks; ++rank) count += count_of(rank, step);
  return {step, 0, count};
}

inline std::vector<float> masters_of(const OnlineTrainer& online) {
  std::vector<float> values;
  const ParameterStore& parameters = online.trainer().model().parameters();
  for (const ParameterSlot& slot : parameters.layout().slots) {
    const std::vector<float> own = test::values_of(parameters.master(slot));
    values.insert(values.end(), own.begin(), own.end());
  }
  return values;
}

inline double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, std::abs(double{a[i]} - double{b[i]}));
  return largest;
}

/// What all ranks say of a call that fails on the last of them.
template <class Call>
void expect_error(const Call& call, ErrorId id, std::initializer_list<std::string_view> parts,
                  ExitCode code = ExitCode::bad_input) {
  EXPECT_TRUE(test::refuses(code, id, parts, call)) << "on rank " << rank_of(MPI_COMM_WORLD);
}

}  // namespace mylos::online_support
