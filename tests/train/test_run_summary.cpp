// The end of a start in words and as JSON.
#include "mylos/train/run/run_summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <Kokkos_Core.hpp>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "mylos/base/error.hpp"

namespace mylos::run_summary_test {

using nlohmann::json;

/// Two ranks, 40 steps of 32 windows of 256 tokens in 10 s of training.
RunSummary sample_summary() {
  return {.name = "surrogate",
          .folder = "runs/surrogate",
          .ranks = 2,
          .ranks_on_node = 2,
          .compute = DType::bf16,
          .batch = 32,
          .position = {.epochs = {}, .total = 100, .first = 20, .step = 60},
          .skipped = 3,
          .loss = 0.25,
          .evaluations = {{"test", "loss 0.3, accuracy 0.9 (100 samples)"}},
          .scaler = {.scale = 1024,
                     .steps = 60,
                     .overflows = 6,
                     .overflow_rate = 0.1,
                     .recent_steps = 40,
                     .recent_overflows = 5,
                     .recent_overflow_rate = 0.125,
                     .increases = 1,
                     .decreases = 4,
                     .tolerated = 2,
                     .applied = 54,
                     .mean_gradient_norm = 1.5},
          .work = {.tokens_of_sample = 256, .sample = {.model = 5e8, .recomputed = 1e8}, .peak_flops = 2e11},
          .metrics = {.time = {.compute_s = 7,
                               .communication_s = 2,
                               .data_s = 0.5,
                               .evaluation_s = 1,
                               .checkpoints_s = 1.5,
                               .other_s = 0.5},
                      .fastest = {1, 6},
                      .slowest = {0, 8},
                      .host_bytes = 100,
                      .host_peak_bytes = 200,
                      .device_bytes = 300},
          .elapsed_s = 112.5,
          .checkpoints = "2 written",
          .memory_plan = "every block keeps all",
          .budget_bytes = 4096,
          .planned_bytes = 2048,
          .float_bytes = 5000};
}

TEST(RunSummary, IsJsonWithTheseKeysAndUnits) {
  const json document = json::parse(document_of(sample_summary()));
  EXPECT_EQ(
      document,
      json::parse(R"({
    "format": "mylos-summary", "version": 1, "run": "surrogate", "outcome": "stopped",
    "ranks": 2, "ranks_on_node": 2, "compute_type": "bf16", "batch": 32,
    "step": 60, "steps_of_run": 100, "steps_of_start": 40, "skipped_of_start": 3, "training_loss": 0.25,
    "elapsed_s": 112.5, "wall_s": 12.5,
    "time": {"compute_s": 7.0, "communication_s": 2.0, "data_wait_s": 0.5, "evaluation_s": 1.0,
             "checkpoints_s": 1.5, "other_s": 0.5},
    "fastest_rank": {"rank": 1, "compute_s_per_step": 0.15},
    "slowest_rank": {"rank": 0, "compute_s_per_step": 0.2},
    "speed": {"samples_per_s": 128.0, "samples_per_s_per_rank": 64.0,
              "tokens_per_s": 32768.0, "tokens_per_s_per_rank": 16384.0,
              "model_flops_per_sample": 5e8, "recomputed_flops_per_sample": 1e8,
              "model_flops_per_s": 64e9, "model_flops_per_s_per_rank": 32e9, "recomputed_flops_per_s": 12.8e9,
              "peak_flops_per_rank": 1e11, "peak": "measured", "model_flop_utilisation": 0.32},
    "scaler": {"scale": 1024.0, "steps": 60, "overflows": 6, "overflow_rate": 0.1, "recent_steps": 40,
               "recent_overflows": 5, "recent_overflow_rate": 0.125, "increases": 1, "decreases": 4,
               "tolerated": 2, "mean_gradient_norm": 1.5},
    "memory": {"budget_bytes": 4096, "planned_bytes": 2048, "estimated_memory_savings": 2952, "host_bytes": 100, "host_peak_bytes": 200,
               "device_bytes": 300}})")
          .patch(json::parse(R"([{"op": "add", "path": "/threads_per_rank", "value": )" +
                             std::to_string(Kokkos::DefaultHostExecutionSpace().concurrency()) + "}]")));
}

TEST(RunSummary, IsJsonWhateverTheRunIsCalledAndWhereThereIsNoLoss) {
  RunSummary summary = sample_summary();
  summary.name = "a\"\xff\n";
  summary.loss.reset();
  summary.scaler.applied = 0;
  summary.position.step = summary.position.total;
  summary.work = {.sample = {.model = 1e6}, .peak_flops = 3e11, .peak_is_measured = false};
  const json document = json::parse(document_of(summary));
  EXPECT_TRUE(document["training_loss"].is_null());
  EXPECT_TRUE(document["scaler"]["mean_gradient_norm"].is_null()) << "no step moved weights";
  EXPECT_EQ(document["outcome"], "done");
  EXPECT_FALSE(document["speed"].contains("tokens_per_s")) << "the data are no tokens";
  EXPECT_EQ(document["speed"]["peak"], "deck");
}

TEST(RunSummary, ATableSaysTheSameInWords) {
  using testing::HasSubstr;
  const std::string table = table_of(sample_summary());
  EXPECT_THAT(table, HasSubstr("  speed                 32768 tokens/s, 16384 per rank\n"));
  EXPECT_THAT(
      table,
      HasSubstr("  loss scale            1024, raised 1 time, lowered 4 times, 2 overflows tolerated\n"));
  EXPECT_THAT(table, HasSubstr("  overflows             6 of 60 steps (10 %), 5 of the last 40 (12.5 %)\n"));
  EXPECT_THAT(table, HasSubstr("  mean gradient norm    1.5\n"));
  EXPECT_THAT(table,
              HasSubstr("  model FLOPs           64 GFLOP/s, 32 % of a peak of 100 GFLOP/s per rank, as "
                        "measured\n"));
  EXPECT_THAT(table,
              HasSubstr("56.0 % compute, 16.0 communication, 4.0 data, 8.0 evaluation, 12.0 checkpoints, "
                        "4.0 other\n"));
  EXPECT_THAT(table, HasSubstr(memory_is_host ? "2 KiB predicted, 200 B at most reached\n"
                                              : "2 KiB predicted per rank, 300 B taken on its device"));
  EXPECT_THAT(table, HasSubstr("  compute per step      150 ms on rank 1 to 200 ms on rank 0\n"));
}

TEST(RunSummary, SaysNoShareOfAPeakThatStepsHaveExceeded) {
  RunSummary summary = sample_summary();
  summary.work.peak_is_exceeded = true;
  EXPECT_THAT(table_of(summary), testing::HasSubstr("  model FLOPs           64 GFLOP/s, peak not known\n"));
  EXPECT_EQ(json::parse(document_of(summary))["speed"]["peak"], "steps");
}

TEST(RunSummary, TheFileAppearsWholeOrNotAtAll) {
  const std::string folder = testing::TempDir() + "mylos_summary_" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  const std::string path = folder + "/summary.json";
  write_summary(path, sample_summary());
  EXPECT_EQ(json::parse(std::ifstream(path)), json::parse(document_of(sample_summary())));
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
  std::filesystem::remove(path);
  std::filesystem::create_directories(path + "/is a folder");
  EXPECT_THROW(write_summary(path, sample_summary()), Error);
  std::filesystem::remove_all(folder);
}

}  // namespace mylos::run_summary_test
