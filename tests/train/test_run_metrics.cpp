// Metrics of all ranks, and the speeds that follow from them.
#include "mylos/train/run/run_metrics.hpp"

#include <gtest/gtest.h>

#include <memory>
#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/kernels/gemm/gemm.hpp"
#include "mylos/train/history/run_speed.hpp"

namespace mylos::run_metrics_test {

TEST(RunMetrics, AreTheMeanTheExtremesAndTheMostOfAllRanks) {
  const std::unique_ptr<Communicator> communicator = make_communicator(MPI_COMM_WORLD, {});
  RankGroup& ranks = communicator->ranks();
  const int size = ranks.size();
  // The last rank is the fastest, the first the slowest.
  const RankMetrics own{
      .time = {.compute_s = 10.0 - ranks.rank(), .communication_s = 2.0 * ranks.rank(), .other_s = 1},
      .host_bytes = 1000 + ranks.rank(),
      .host_peak_bytes = 2000 + ranks.rank(),
      .device_bytes = 3000 - ranks.rank()};
  const RunMetrics run = gather_metrics(Quiesced::without_trainer(*communicator, {}), ranks, own);
  EXPECT_DOUBLE_EQ(run.time.compute_s, 10 - 0.5 * (size - 1));
  EXPECT_DOUBLE_EQ(run.time.communication_s, size - 1);
  EXPECT_DOUBLE_EQ(run.time.other_s, 1);
  EXPECT_DOUBLE_EQ(run.time.sum_s(), 11 + 0.5 * (size - 1));
  EXPECT_EQ(run.slowest.rank, 0);
  EXPECT_DOUBLE_EQ(run.slowest.compute_s, 10);
  EXPECT_EQ(run.fastest.rank, size - 1);
  EXPECT_DOUBLE_EQ(run.fastest.compute_s, 11 - size);
  EXPECT_EQ(run.host_bytes, 999 + size);
  EXPECT_EQ(run.host_peak_bytes, 1999 + size);
  EXPECT_EQ(run.device_bytes, 3000);
}

TEST(RunMetrics, OfThisRankAreOfThisProcess) {
  const RankMetrics own = metrics_of_rank({.compute_s = 3});
  EXPECT_EQ(own.time.compute_s, 3);
  EXPECT_GT(own.host_bytes, 1 << 20);
  EXPECT_GE(own.host_peak_bytes, own.host_bytes);
  EXPECT_EQ(own.device_bytes == 0, memory_is_host);
}

TEST(RunSpeed, IsAShareOfThePeakOfAllRanks) {
  const RunWork work{
      .tokens_of_sample = 256, .sample = {.model = 2e9, .recomputed = 1e9}, .peak_flops = 8e11};
  const RunSpeed speed = speed_of(work, 300, 2);
  EXPECT_DOUBLE_EQ(speed.samples_per_s, 150);
  EXPECT_DOUBLE_EQ(speed.tokens_per_s, 150 * 256);
  EXPECT_DOUBLE_EQ(speed.model_flops_per_s, 3e11);
  EXPECT_DOUBLE_EQ(speed.model_flop_utilisation, 0.375) << "what is computed again is no part of it";
}

TEST(RunSpeed, OfStepsThatAreFasterThanAMeasuredPeakIsThePeak) {
  RunWork work{.sample = {.model = 1e9}, .peak_flops = 1e12};
  EXPECT_DOUBLE_EQ(speed_of_steps(work, 500, 1).model_flop_utilisation, 0.5);
  EXPECT_FALSE(work.peak_is_exceeded);
  EXPECT_DOUBLE_EQ(speed_of_steps(work, 2000, 1).model_flop_utilisation, 1);
  EXPECT_TRUE(work.peak_is_exceeded);
  EXPECT_DOUBLE_EQ(work.peak_flops, 2e12);
  EXPECT_DOUBLE_EQ(speed_of_steps(work, 1000, 1).model_flop_utilisation, 0.5);
  EXPECT_DOUBLE_EQ(work.peak_flops, 2e12) << "the best is kept";
}

TEST(RunSpeed, OfStepsDoesNotRaiseThePeakOfADeck) {
  RunWork work{.sample = {.model = 1e9}, .peak_flops = 1e12, .peak_is_measured = false};
  EXPECT_DOUBLE_EQ(speed_of_steps(work, 2000, 1).model_flop_utilisation, 2);
  EXPECT_TRUE(work.peak_is_exceeded);
  EXPECT_DOUBLE_EQ(work.peak_flops, 1e12);
}

RateIntervals intervals(const std::vector<double>& rates, double length_s) {
  RateIntervals result;
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] = {rates[i], length_s * static_cast<double>(i + 1)};
  return result;
}

TEST(BestRate, IsNotHeldBackByANeighbourOfMostStretches) {
  const std::vector<RateIntervals> alone{intervals({10, 12, 100, 11, 9}, 1)};
  EXPECT_EQ(best_rate(alone), 100);
}

/// The last two of the second rank: the cores were its own.
TEST(BestRate, IsOfStretchesInWhichAllRanksWereAtWork) {
  const std::vector<RateIntervals> ranks{intervals({50, 51, 52, 50, 50}, 1),
                                         intervals({30, 31, 32, 90, 90}, 1.6)};
  EXPECT_EQ(best_rate(ranks), 52 + 32);
  const std::vector<RateIntervals> late{intervals({50, 51, 52, 50, 50}, 1),
                                        intervals({30, 90, 90, 90, 90}, 6)};
  EXPECT_EQ(best_rate(late), 52 + 30) << "all it has";
}

constexpr std::size_t plenty = std::size_t{1} << 30;

TEST(PeakFlops, AreThoseOfTheDeckForEachRankOrMeasuredOnEach) {
  RankGroup ranks(MPI_COMM_WORLD, 30);
  const auto engines = make_engines({});
  RunOptions run;
  run.peak_flops = 5e11;
  EXPECT_DOUBLE_EQ(peak_flops_of(run, DType::bf16, engines->gemm(), ranks, plenty), 5e11 * ranks.size());
  run.peak_flops = 0;
  const double measured = peak_flops_of(run, DType::bf16, engines->gemm(), ranks, plenty);
  EXPECT_GT(measured, 1e6);
  std::vector<double> all(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(&measured, all.data(), sizeof measured);
  for (const double other : all) EXPECT_EQ(other, measured) << "all ranks know the same";
}

}  // namespace mylos::run_metrics_test
