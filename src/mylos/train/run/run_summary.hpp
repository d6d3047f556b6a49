// RunSummary: the report at the end of a start: a table for people, summary.json for programs
// (docs/reference/metrics.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mylos/base/dtype.hpp"
#include "mylos/precision/scaler_statistics.hpp"
#include "mylos/train/history/run_speed.hpp"
#include "mylos/train/run/run_metrics.hpp"
#include "mylos/train/run/run_position.hpp"

namespace mylos {

struct BestOfRun {
  std::string metric;  // "validation.loss"
  double value = 0;
  std::int64_t step = 0;
};

struct RunSummary {
  std::string name;
  std::string folder;
  int ranks = 1;
  int ranks_on_node = 1;
  DType compute = DType::fp32;
  std::int64_t batch = 0;  // samples of a step
  RunPosition position;
  bool stopped_early = false;  // by run.patience
  std::int64_t skipped = 0;    // steps of this start
  std::optional<double> loss = {};
  std::vector<std::pair<std::string, std::string>> evaluations = {};  // part of the data, result
  std::optional<BestOfRun> best = {};  // if the deck asks for one and there is one
  ScalerStatistics scaler = {};        // of all starts, or since it was reset
  RunWork work;
  RunMetrics metrics;
  double elapsed_s = 0;  // of all starts; metrics.time has that of this one
  std::string checkpoints;
  std::string memory_plan;
  std::int64_t budget_bytes = 0;   // of a rank
  std::int64_t planned_bytes = 0;  // of a rank
  std::int64_t float_bytes = 0;    // of a rank in float without recomputation; 0: not known
};

[[nodiscard]] std::string table_of(const RunSummary& summary);
/// Returns JSON.
[[nodiscard]] std::string document_of(const RunSummary& summary);
/// Writes the document atomically. Throws Error if the disk refuses it.
void write_summary(const std::string& path, const RunSummary& summary);

}  // namespace mylos
