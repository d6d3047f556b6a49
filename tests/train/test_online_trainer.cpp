// A network trained on a program's own views, on any number of ranks.
#include <atomic>
#include <functional>
#include <limits>
#include <span>

#include "mylos/base/errors/calls.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/memory.hpp"
#include "mylos/base/errors/samples.hpp"
#include "support/device_views.hpp"
#include "train/allocations.hpp"
#include "train/engines.hpp"
#include "train/online.hpp"

namespace mylos::online_trainer_test {

using namespace online_support;  // NOLINT

class OnlineTypes : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Types, OnlineTypes, testing::Values(DType::fp32, DType::bf16, DType::fp16),
                         [](const auto& type) { return std::string(name_of(type.param)); });

TEST_P(OnlineTypes, UnequalCountsOnRanksAreOneBatchOnOneRank) {
  const int ranks = size_of(MPI_COMM_WORLD);
  OnlineTrainer together(online_options(GetParam()), MPI_COMM_WORLD);
  Options options = online_options(GetParam());
  options.data.micro_batch = most * ranks;
  OnlineTrainer alone(options, MPI_COMM_SELF);
  for (std::uint64_t step = 0; step < 12; ++step) {
    const Samples own = share_of(rank_of(MPI_COMM_WORLD), step);
    const Samples all = all_of(ranks, step);
    const StepReport a = together.step(own.inputs, own.targets);
    const StepReport b = alone.step(all.inputs, all.targets);
    EXPECT_EQ(a.samples, static_cast<std::int64_t>(all.inputs.extent(0)));
    EXPECT_EQ(b.samples, a.samples);
    EXPECT_EQ(a.updated, b.updated);
    const double tolerance = GetParam() == DType::bf16 ? 3e-2 : GetParam() == DType::fp16 ? 4e-3 : 2e-6;
    EXPECT_NEAR(a.loss, b.loss, tolerance * b.loss);
    EXPECT_NEAR(a.gradient_norm, b.gradient_norm, tolerance * b.gradient_norm);
  }
  if (GetParam() == DType::fp32) {
    EXPECT_LT(largest_difference(masters_of(together), masters_of(alone)), 2e-5);
  }
}

TEST_P(OnlineTypes, LearnsAndInfersInPiecesOfAnySize) {
  OnlineTrainer online(online_options(GetParam()), MPI_COMM_WORLD);
  const int rank = rank_of(MPI_COMM_WORLD);
  StepReport first;
  StepReport last;
  for (std::uint64_t step = 0; step < 400; ++step) {
    const Samples own(step, rank * most, rank == 0 ? most : most - 3);
    last = online.step(own.inputs, own.targets);
    if (step == 0) first = last;
  }
  EXPECT_LT(last.loss, 0.1 * first.loss);
  const Samples fresh(1000, 0, 3 * most + 5);
  const Matrix predictions("predictions", fresh.inputs.extent(0), fresh.targets.extent(1));
  online.infer(fresh.inputs, predictions);
  const auto p = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), predictions);
  const auto t = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), fresh.targets);
  double squares = 0;
  for (std::size_t i = 0; i < p.size(); ++i) squares += std::pow(p.data()[i] - t.data()[i], 2);
  EXPECT_LT(squares / static_cast<double>(p.size()), 0.1 * first.loss);
}

TEST(OnlineTrainer, RanksWithoutSamplesTakePart) {
  OnlineTrainer online(online_options(), MPI_COMM_WORLD);
  OnlineTrainer alone(online_options(), MPI_COMM_SELF);
  const int last = size_of(MPI_COMM_WORLD) - 1;
  for (std::uint64_t step = 0; step < 5; ++step) {
    const Samples all(step, 0, most);
    const Samples own(step, 0, rank_of(MPI_COMM_WORLD) == last ? most : 0);
    const StepReport a = online.step(own.inputs, own.targets);
    const StepReport b = alone.step(all.inputs, all.targets);
    EXPECT_EQ(a.samples, most);
    EXPECT_NEAR(a.gradient_norm, b.gradient_norm, 1e-5 * b.gradient_norm);
  }
  EXPECT_LT(largest_difference(masters_of(online), masters_of(alone)), 1e-5);

  const std::vector<float> before = masters_of(online);
  const StepReport nothing = online.step(Matrix(), Matrix());
  EXPECT_EQ(nothing.samples, 0);
  EXPECT_FALSE(nothing.updated);
  EXPECT_EQ(nothing.overflow_rank, -1);
  EXPECT_EQ(masters_of(online), before);
  EXPECT_EQ(nothing.step, 6u);
}

TEST(OnlineTrainer, WhatDoesNotFitOnOneRankIsAnErrorOnAllAndTrainingGoesOn) {
  OnlineTrainer online(online_options(), MPI_COMM_WORLD);
  const bool guilty = rank_of(MPI_COMM_WORLD) == size_of(MPI_COMM_WORLD) - 1;
  const Samples good(0, 0, most);
  online.step(good.inputs, good.targets);
  const std::vector<float> before = masters_of(online);

  const Samples many(0, 0, most + 1);
  expect_error(
      [&] { guilty ? online.step(many.inputs, many.targets) : online.step(good.inputs, good.targets); },
      errors::bad_call, {"17 samples", "16 of data.micro_batch"});
  const Matrix wide("wide", most, input_width + 1);
  expect_error([&] { online.step(guilty ? wide : good.inputs, good.targets); }, errors::bad_call,
               {"inputs of [16, 7] values", "model.inputs is 6"});
  expect_error([&] { online.step(good.inputs, guilty ? many.targets : good.targets); }, errors::bad_call,
               {"16 rows of inputs and 17 of targets"});
  const Labels labels("labels", most);
  expect_error([&] { guilty ? online.step(good.inputs, labels) : online.step(good.inputs, good.targets); },
               errors::bad_call, {"labels", "model.loss = \"mse\""});
  const auto part =
      Kokkos::subview(wide, Kokkos::ALL, Kokkos::pair<std::size_t, std::size_t>(0, input_width));
  expect_error([&] { online.step(guilty ? SampleRows<const float>(part) : good.inputs, good.targets); },
               errors::bad_call, {"inputs: ", "contiguous"});
  EXPECT_EQ(masters_of(online), before);
  const StepReport next = online.step(good.inputs, good.targets);
  EXPECT_EQ(next.step, 2u);
  EXPECT_TRUE(next.updated);
}

TEST(OnlineTrainer, ASampleAloneIsTooFewForBatchNormalisation) {
  const int rank = rank_of(MPI_COMM_WORLD);
  const int ranks = size_of(MPI_COMM_WORLD);
  const Samples many(0, 0, 4), one(0, 0, 1), none(0, 0, 0);
  for (const NormOver over : {NormOver::micro_batch, NormOver::ranks}) {
    OnlineTrainer online(batch_normalised_options(over), MPI_COMM_WORLD);
    online.step(many.inputs, many.targets);
    const std::vector<float> before = masters_of(online);
    const auto refused = [&](const Samples& own, std::string_view number) {
      expect_error([&] { online.step(own.inputs, own.targets); }, errors::too_little_data,
                   {number, "layer 'first.norm'"});
    };
    const bool is_last = rank == ranks - 1;
    if (over == NormOver::micro_batch) {
      refused(is_last ? one : many, "1 sample on a rank");
    } else {
      refused(is_last ? one : none, "1 sample on all ranks together");
    }
    EXPECT_EQ(masters_of(online), before);
    const bool shares_them = over == NormOver::ranks && ranks > 1;
    const Samples& few = shares_them ? one : many;
    EXPECT_EQ(online.step(few.inputs, few.targets).step, 2u);
    EXPECT_FALSE(online.step(none.inputs, none.targets).updated);
    EXPECT_TRUE(
        online.step(is_last ? many.inputs : none.inputs, is_last ? many.targets : none.targets).updated);
    EXPECT_NE(masters_of(online), before);
  }
}

TEST(OnlineTrainer, WithinAParallelRegionEveryCallIsAnErrorOfEveryThreadAndTrainingGoesOn) {
  OnlineTrainer online(online_options(), MPI_COMM_WORLD);
  const Samples good(0, 0, most);
  online.step(good.inputs, good.targets);
  const std::vector<float> before = masters_of(online);
  const Matrix predictions("predictions", most, output_width);
  const Labels labels("labels", most);
  const Tensor tensor(predictions.data(), DType::fp32, most, output_width);
  const std::vector<float> numbers(8, 1.0f);
  const std::vector<std::function<void()>> calls{
      [&] { online.infer(good.inputs, predictions); },
      [&] { online.step(good.inputs, good.targets); },
      [&] { online.step(good.inputs, labels); },
      [&] { online.forward(good.inputs, predictions); },
      [&] { online.backward(predictions); },
      [&] { online.backward(predictions, good.inputs); },
      [&] { online.apply(); },
      [&] { online.parameter("head/weight").read(predictions); },
      [&] { online.parameter("head/weight").write(predictions); },
      [&] { GradientScaler().unscale_and_check(predictions); },
      [&] { online.save("nothing.h5"); },
      [&] { online.load("nothing.h5"); },
      [&] { static_cast<void>(online.scaler()); },
      [&] { OnlineTrainer(online_options(), MPI_COMM_SELF); },
      [&] { convert(Execution{}, tensor, tensor); },
      [&] { static_cast<void>(conversion_safety(std::span<const float>(numbers))); }};
  for (const int threads : {1, 2}) {
    for (std::size_t call = 0; call < calls.size(); ++call) {
      std::atomic<int> entered = 0;
      std::atomic<int> refused = 0;
#pragma omp parallel num_threads(threads)
      {
        ++entered;
        try {
          calls[call]();
        } catch (const Error& error) {
          if (error.code() == ExitCode::failed && error.id() == errors::bad_call) ++refused;
        }
      }
      EXPECT_GT(entered, 0);
      EXPECT_EQ(refused, entered) << "call " << call;
    }
  }
  EXPECT_EQ(masters_of(online), before);
  online.infer(good.inputs, predictions);
  EXPECT_EQ(online.step(good.inputs, good.targets).step, 2u);
}

TEST(OnlineTrainer, OptionsThatAreNotForViewsOrDifferAreErrorsOnAllRanks) {
  const auto expect_refused = [](const Options& options, ErrorId id, std::string_view part) {
    expect_error([&] { OnlineTrainer(options, MPI_COMM_WORLD); }, id, {part});
  };
  Options options = online_options();
  options.model.inputs = 0;
  expect_refused(options, errors::missing_key, "model.inputs and model.outputs");
  options = online_options();
  options.data.train = "flow.h5";
  expect_refused(options, errors::key_without_effect, "data.train");
  options = online_options();
  options.memory.on_oom = OutOfMemory::shrink;
  expect_refused(options, errors::key_without_effect, "memory.on_oom");
  options.memory = {};
  options.data.normalize = Normalize::standard;
  expect_refused(options, errors::key_without_effect, "data.normalize");
  options = online_options();
  options.precision.adapt = true;
  expect_refused(options, errors::key_without_effect, "precision.adapt");
  for (const double timeout_s : {std::numeric_limits<double>::infinity(), std::nan(""), -1.0}) {
    options = online_options();
    options.communication.timeout_s = timeout_s;
    options.communication.backend = "nccl";  // of which no communicator is made before that was refused
    expect_refused(options, errors::bad_value, "communication.timeout");
  }
  options = online_options();
  options.memory.budget_bytes = 1 << 20;
  expect_error([&] { OnlineTrainer(options, MPI_COMM_WORLD); }, errors::does_not_fit, {"memory.budget"},
               ExitCode::does_not_fit);
  if (size_of(MPI_COMM_WORLD) == 1) return;
  options = online_options();
  if (rank_of(MPI_COMM_WORLD) == 1) options.optimizer.lr = 1;
  expect_refused(options, errors::ranks_disagree, "rank 1: optimizer.lr is 1");
}

TEST_P(OnlineTypes, NonFiniteInputsOfOneRankSkipTheStepOnAll) {
  OnlineTrainer online(online_options(GetParam()), MPI_COMM_WORLD);
  const int last = size_of(MPI_COMM_WORLD) - 1;
  const Samples good(0, 0, most);
  const Samples bad(0, 0, most);
  if (rank_of(MPI_COMM_WORLD) == last) {
    Kokkos::deep_copy(Kokkos::subview(bad.inputs, 3, 2), std::numeric_limits<float>::quiet_NaN());
  }
  online.step(good.inputs, good.targets);
  const std::vector<float> before = masters_of(online);
  const StepReport skipped = online.step(bad.inputs, bad.targets);
  EXPECT_FALSE(skipped.updated);
  EXPECT_GE(skipped.overflow_rank, 0);
  EXPECT_EQ(masters_of(online), before);
  EXPECT_TRUE(online.step(good.inputs, good.targets).updated);
  EXPECT_NE(masters_of(online), before);
}

TEST(OnlineTrainer, ClassifiesByLabels) {
  Options options = online_options();
  options.model.loss = losses::CrossEntropy{};
  OnlineTrainer online(options, MPI_COMM_WORLD);
  StepReport report;
  double first = 0;
  for (std::uint64_t step = 0; step < 200; ++step) {
    const Samples own(step, rank_of(MPI_COMM_WORLD) * most, most);
    const Labels labels("labels", most);
    const auto x = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), own.inputs);
    const auto on_host = Kokkos::create_mirror_view(labels);
    for (std::size_t row = 0; row < x.extent(0); ++row) {
      on_host(row) = x(row, 0) > x(row, 1) ? 0 : x(row, 2) > 0 ? 1 : 2;
    }
    Kokkos::deep_copy(labels, on_host);
    report = online.step(own.inputs, labels);
    if (step == 0) first = report.loss;
  }
  EXPECT_LT(report.loss, 0.6 * first);
}

TEST(OnlineTrainer, TrainsOnAPartOfTheWorldWhileTheOthersDoSomethingElse) {
  const int rank = rank_of(MPI_COMM_WORLD);
  const bool trains = rank == 0 || rank % 2 == 1;
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, trains ? 0 : 1, -rank, &part);  // in another order than the world's
  if (trains) {
    OnlineTrainer online(online_options(), part);
    MPI_Comm_free(&part);  // it has its own duplicate
    const Samples own(0, 0, most);
    EXPECT_TRUE(online.step(own.inputs, own.targets).updated);
  } else {
    int sum = 1;
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, part);
    EXPECT_EQ(sum, size_of(part));
    MPI_Comm_free(&part);
    expect_error([&] { OnlineTrainer(online_options(), MPI_COMM_NULL); }, errors::bad_call,
                 {"MPI_COMM_NULL"});
  }
}

TEST(OnlineTrainer, AStepAndAnInferenceAllocateNothing) {
  if (!testing_support::has_tiles()) GTEST_SKIP() << "no tiles in this build";
  Options options = online_options(DType::bf16);
  options.kernels.gemm = GemmChoice::tiles;  // oneDNN 2.6 itself allocates at every call
  OnlineTrainer online(options, MPI_COMM_WORLD);
  const Samples samples(0, 0, most);
  const Samples fewer(0, 0, most - 5);
  const Matrix predictions("predictions", most, output_width);
  const auto work = [&] {
    online.step(samples.inputs, samples.targets);
    online.step(fewer.inputs, fewer.targets);
    online.infer(samples.inputs, predictions);
  };
  testing_support::expect_no_allocations(work);
}

}  // namespace mylos::online_trainer_test
