#include "mylos/train/run/run_summary.hpp"

#include <fmt/format.h>
#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/io/files/atomic_publish.hpp"
#include "mylos/train/plan/memory_statement.hpp"

namespace mylos {
namespace {

using nlohmann::ordered_json;  // members keep the order in which people read them

/// Returns the speed of the start, over all ranks.
RunSpeed speed_of_start(const RunSummary& summary) {
  const auto samples = static_cast<double>(summary.position.of_start() * summary.batch);
  return speed_of(summary.work, samples, std::max(summary.metrics.time.training_s(), 1e-9));
}

/// 1.234e12 -> "1.23 TFLOP/s".
std::string format_flops(double flops_per_s) {
  constexpr const char* prefixes[] = {"M", "G", "T", "P", "E"};
  std::size_t prefix = 0;
  double value = flops_per_s * 1e-6;
  while (value >= 1000 && prefix + 1 < std::size(prefixes)) {
    value *= 1e-3;
    ++prefix;
  }
  return fmt::format("{:.3g} {}FLOP/s", value, prefixes[prefix]);
}

std::string describe_speed(const RunSummary& summary, const RunSpeed& speed) {
  const bool has_tokens = summary.work.tokens_of_sample > 0;
  const double rate = has_tokens ? speed.tokens_per_s : speed.samples_per_s;
  std::string text = fmt::format("{:.0f} {}/s", rate, has_tokens ? "tokens" : "samples");
  if (summary.ranks > 1) text += fmt::format(", {:.0f} per rank", rate / summary.ranks);
  return text;
}

/// Returns where the peak comes from.
const char* origin_of_peak(const RunWork& work) {
  if (!work.peak_is_measured) return "deck";
  return work.peak_is_exceeded ? "steps" : "measured";
}

std::string describe_share(const RunSummary& summary, const RunSpeed& speed) {
  if (summary.work.peak_is_exceeded)
    return fmt::format("{}, peak not known", format_flops(speed.model_flops_per_s));
  return fmt::format("{}, {:.3g} % of a peak of {} per rank{}", format_flops(speed.model_flops_per_s),
                     100 * speed.model_flop_utilisation,
                     format_flops(summary.work.peak_flops / summary.ranks),
                     summary.work.peak_is_measured ? ", as measured" : "");
}

std::string describe_parts(const TimeParts& time) {
  const double percent = 100 / std::max(time.sum_s(), 1e-9);
  std::string text;
  for_each_part([&](const char* name, const char*, auto field) {
    const bool is_first = text.empty();
    text += fmt::format("{}{:.1f}{} {}", is_first ? "" : ", ", percent * (time.*field), is_first ? " %" : "",
                        name);
  });
  return text;
}

/// Describes the planned and the measured memory.
std::string describe_memory(const RunSummary& summary) {
  const std::string planned = format_bytes(summary.planned_bytes);
  const RunMetrics& metrics = summary.metrics;
  if constexpr (memory_is_host) {
    return fmt::format("{} predicted, {} at most reached", planned, format_bytes(metrics.host_peak_bytes));
  } else {
    return fmt::format("{} predicted per rank, {} taken on its device by all processes", planned,
                       format_bytes(metrics.device_bytes));
  }
}

/// Returns what 16 bits and recomputation save of a rank's memory, by the plans of both; nothing if the other
/// is not known.
std::optional<std::int64_t> saved_bytes(const RunSummary& summary) {
  if (summary.float_bytes == 0) return std::nullopt;
  return summary.float_bytes - summary.planned_bytes;
}

std::string describe_savings(const RunSummary& summary, std::int64_t saved) {
  const std::string whole = format_bytes(summary.float_bytes);
  return saved < 0
             ? fmt::format("{} more than the {} of float without recomputation", format_bytes(-saved), whole)
             : fmt::format("{} of the {} of float without recomputation", format_bytes(saved), whole);
}

/// Returns the seconds of a step.
double pace_of(const RunSummary& summary, double compute_s) {
  const std::int64_t steps = std::max<std::int64_t>(1, summary.position.of_start());
  return compute_s / static_cast<double>(steps);
}

ordered_json time_of(const TimeParts& time) {
  ordered_json members;
  for_each_part([&](const char*, const char* key, auto field) { members[key] = time.*field; });
  return members;
}

ordered_json speed_members(const RunSummary& summary) {
  const RunSpeed speed = speed_of_start(summary);
  const RunWork& work = summary.work;
  ordered_json members = {{"samples_per_s", speed.samples_per_s},
                          {"samples_per_s_per_rank", speed.samples_per_s / summary.ranks}};
  if (work.tokens_of_sample > 0) {
    members["tokens_per_s"] = speed.tokens_per_s;
    members["tokens_per_s_per_rank"] = speed.tokens_per_s / summary.ranks;
  }
  members.update({{"model_flops_per_sample", work.sample.model},
                  {"recomputed_flops_per_sample", work.sample.recomputed},
                  {"model_flops_per_s", speed.model_flops_per_s},
                  {"model_flops_per_s_per_rank", speed.model_flops_per_s / summary.ranks},
                  {"recomputed_flops_per_s", speed.samples_per_s * work.sample.recomputed},
                  {"peak_flops_per_rank", work.peak_flops / summary.ranks},
                  {"peak", origin_of_peak(work)},
                  {"model_flop_utilisation", speed.model_flop_utilisation}});
  return members;
}

ordered_json members_of(const ScalerStatistics& scaler) {
  const bool has_norm = scaler.applied > 0;
  return {{"scale", scaler.scale},
          {"steps", scaler.steps},
          {"overflows", scaler.overflows},
          {"overflow_rate", scaler.overflow_rate},
          {"recent_steps", scaler.recent_steps},
          {"recent_overflows", scaler.recent_overflows},
          {"recent_overflow_rate", scaler.recent_overflow_rate},
          {"increases", scaler.increases},
          {"decreases", scaler.decreases},
          {"tolerated", scaler.tolerated},
          {"mean_gradient_norm", has_norm ? ordered_json(scaler.mean_gradient_norm) : ordered_json(nullptr)}};
}

}  // namespace

std::string table_of(const RunSummary& summary) {
  std::string table = "\n";
  const auto row = [&table](const std::string& name, const std::string& value) {
    table += fmt::format("  {:<22}{}\n", name, value);
  };
  const RunPosition& position = summary.position;
  const RunMetrics& metrics = summary.metrics;
  const RunSpeed speed = speed_of_start(summary);
  row("steps", fmt::format("{} of {} ({} of this start, {} skipped)", position.step, position.total,
                           position.of_start(), summary.skipped));
  if (summary.loss) row("training loss", fmt::format("{:.4f}", *summary.loss));
  for (const auto& [part, result] : summary.evaluations) row(part, result);
  if (const auto& best = summary.best)
    row("best", fmt::format("{} {:.6g} at step {}", best->metric, best->value, best->step));
  row("loss scale", describe_scale(summary.scaler));
  row("overflows", describe_overflows(summary.scaler));
  if (summary.scaler.applied > 0)
    row("mean gradient norm", fmt::format("{:.4g}", summary.scaler.mean_gradient_norm));
  row("speed", describe_speed(summary, speed));
  row("model FLOPs", describe_share(summary, speed));
  row("checkpoints", summary.checkpoints);
  row("time", fmt::format("{} of this start, {} in all", format_duration(metrics.time.sum_s()),
                          format_duration(summary.elapsed_s)));
  row("of this start", describe_parts(metrics.time));
  if (summary.ranks > 1) {
    const auto milliseconds = [&](const RunMetrics::Pace& one) {
      return fmt::format("{:.4g} ms on rank {}", 1000 * pace_of(summary, one.compute_s), one.rank);
    };
    row("compute per step", milliseconds(metrics.fastest) + " to " + milliseconds(metrics.slowest));
  }
  row("memory plan", summary.memory_plan);
  row("memory budget", format_bytes(summary.budget_bytes) + " per rank");
  row(memory_is_host ? "peak memory per rank" : "device memory", describe_memory(summary));
  if (const auto saved = saved_bytes(summary);
      saved && std::abs(*saved) > static_cast<std::int64_t>(start_spread))
    row("estimated savings", describe_savings(summary, *saved));
  row("run folder", summary.folder);
  return table;
}

std::string document_of(const RunSummary& summary) {
  const RunPosition& position = summary.position;
  const RunMetrics& metrics = summary.metrics;
  const auto pace = [&](const RunMetrics::Pace& one) -> ordered_json {
    return {{"rank", one.rank}, {"compute_s_per_step", pace_of(summary, one.compute_s)}};
  };
  const std::optional<std::int64_t> saved = saved_bytes(summary);
  ordered_json document = {
      {"format", "mylos-summary"},
      {"version", 1},
      {"run", summary.name},
      {"outcome", position.at_end() || summary.stopped_early ? "done" : "stopped"},
      {"ranks", summary.ranks},
      {"ranks_on_node", summary.ranks_on_node},
      {"threads_per_rank", Kokkos::DefaultHostExecutionSpace().concurrency()},
      {"compute_type", name_of(summary.compute)},
      {"batch", summary.batch},
      {"step", position.step},
      {"steps_of_run", position.total},
      {"steps_of_start", position.of_start()},
      {"skipped_of_start", summary.skipped},
      {"training_loss", summary.loss ? ordered_json(*summary.loss) : ordered_json(nullptr)},
      {"elapsed_s", summary.elapsed_s},
      {"wall_s", metrics.time.sum_s()},
      {"time", time_of(metrics.time)},
      {"fastest_rank", pace(metrics.fastest)},
      {"slowest_rank", pace(metrics.slowest)},
      {"speed", speed_members(summary)},
      {"scaler", members_of(summary.scaler)},
      {"memory",
       {{"budget_bytes", summary.budget_bytes},
        {"planned_bytes", summary.planned_bytes},
        {"estimated_memory_savings", saved ? ordered_json(*saved) : ordered_json(nullptr)},
        {"host_bytes", metrics.host_bytes},
        {"host_peak_bytes", metrics.host_peak_bytes},
        {"device_bytes", metrics.device_bytes}}}};
  if (memory_is_host && metrics.exchanged.messages > 0) {  // devices replay graphs, of which none counts
    document["exchanged"] = {{"bytes", metrics.exchanged.bytes}, {"messages", metrics.exchanged.messages}};
  }
  if (summary.best) {
    const BestOfRun& best = *summary.best;
    document["best"] = {{"metric", best.metric}, {"value", best.value}, {"step", best.step}};
  }
  if (summary.best || summary.stopped_early) document["stopped_early"] = summary.stopped_early;
  // Names from the command line may not be UTF-8.
  return document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

void write_summary(const std::string& path, const RunSummary& summary) {
  publish_text(path, document_of(summary));
}

}  // namespace mylos
