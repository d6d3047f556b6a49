#include "run_parts.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <filesystem>

#include "curves_json.hpp"
#include "launch/child_process.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/checkpoint/write/folder.hpp"
#include "run_table.hpp"
#include "thinned_steps.hpp"

namespace mylos::app {
namespace {

constexpr std::size_t max_marks = 2000;
constexpr std::size_t max_checkpoints_tried = 3;
constexpr double missing = std::numeric_limits<double>::quiet_NaN();

/// Columns of history.csv; the first is the step.
enum Column : std::size_t {
  epoch = 1,
  loss,
  lr,
  gradient_norm,
  scale,
  overflow,
  samples_per_s,
  tokens_per_s,
  utilisation,
  communication_s,
  data_wait_s,
  elapsed_s,
  host_bytes,
  host_peak_bytes,
  device_bytes,
  columns
};
const std::vector<std::string>& column_names() {
  static const std::vector<std::string> names{"step",
                                              "epoch",
                                              "loss",
                                              "lr",
                                              "gradient_norm",
                                              "scale",
                                              "overflow",
                                              "samples_per_s",
                                              "tokens_per_s",
                                              "model_flop_utilisation",
                                              "communication_s",
                                              "data_wait_s",
                                              "elapsed_s",
                                              "host_bytes",
                                              "host_peak_bytes",
                                              "device_bytes"};
  return names;
}

/// The columns that are drawn.
const std::vector<std::string>& curve_names() {
  static const std::vector<std::string> names{"loss",
                                              "lr",
                                              "gradient_norm",
                                              "scale",
                                              "samples_per_s",
                                              "tokens_per_s",
                                              "model_flop_utilisation",
                                              "communication_s",
                                              "data_wait_s",
                                              "compute_s",
                                              "host_bytes",
                                              "host_peak_bytes",
                                              "device_bytes"};
  return names;
}

/// Reads rows and reduces them to curves.
class History {
 public:
  History(double batch, std::size_t max_points)
      : batch_(batch),
        curves_(curve_names().size(), max_points),
        overflows_(max_marks),
        rows_(column_names(), [this](CsvRows::Row row) { return add(row); }) {}

  CsvRows& rows() { return rows_; }

  [[nodiscard]] ordered_json document() const {
    ordered_json document = {{"rows", rows_.rows()}, {"curves", json_of(curves_, curve_names())}};
    document["points_stand_for"] = curves_.width();
    if (rows_.rows() == 0) return document;
    document["step"] = last_step_;
    document["epoch"] = short_number(last_[epoch]);
    document["loss"] = short_number(last_[loss]);
    document["elapsed_s"] = short_number(last_[elapsed_s]);
    document["broken_losses"] = broken_losses_;
    if (rows_.has(overflow))
      document["overflows"] = {
          {"steps", overflows_.steps()}, {"total", overflows_.total()}, {"every", overflows_.every()}};
    return document;
  }

 private:
  bool add(CsvRows::Row row) {
    std::array<double, columns> values;
    for (std::size_t column = 0; column < columns; ++column) {
      const std::optional<double> number = number_or_nothing(row[column]);
      if (!number) return false;
      values[column] = *number;
    }
    const std::optional<std::int64_t> step = step_of(row[0]);
    if (!step) return false;
    const std::int64_t at = *step;
    const bool skipped = values[overflow] > 0;
    if (skipped) overflows_.add(at);
    if (rows_.has(loss) && !std::isfinite(values[loss])) ++broken_losses_;
    if (at >= last_step_) {
      last_step_ = at;
      last_ = values;
    }
    const double waits = values[communication_s] + values[data_wait_s];
    const double compute = batch_ / values[samples_per_s] - waits;
    const std::array curve_values{
        values[loss],
        values[lr],
        skipped ? missing : values[gradient_norm],  // it leaves out what is not finite, and so says nothing
        values[scale],
        values[samples_per_s],
        values[tokens_per_s] > 0 ? values[tokens_per_s] : missing,
        values[utilisation] > 0 ? values[utilisation] : missing,
        values[communication_s],
        values[data_wait_s],
        batch_ > 0 && values[samples_per_s] > 0 ? std::fmax(0.0, compute) : missing,
        values[host_bytes] > 0 ? values[host_bytes] : missing,
        values[host_peak_bytes] > 0 ? values[host_peak_bytes] : missing,
        values[device_bytes] > 0 ? values[device_bytes] : missing};
    curves_.add(at, curve_values);
    return true;
  }

  double batch_;
  StepCurves curves_;
  ThinnedSteps overflows_;
  std::int64_t last_step_ = 0;
  std::array<double, columns> last_{};
  std::int64_t broken_losses_ = 0;
  CsvRows rows_;
};

}  // namespace

ordered_json history_of(const std::string& folder, const DeckLines& deck, bool runs_on,
                        std::size_t max_points, ordered_json& notes) {
  const double batch = deck.number("data.batch");
  History history(batch, max_points);
  const bool found = read_table(folder, "history.csv", history.rows(), runs_on, notes);
  if (history.rows().rows() > 0) return history.document();

  const std::vector<CheckpointFile> checkpoints = list_checkpoints(folder);
  std::size_t tried = 0;
  for (auto file = checkpoints.rbegin(); file != checkpoints.rend() && tried < max_checkpoints_tried;
       ++file, ++tried) {
    const std::string name = "checkpoints/" + std::filesystem::path(file->path).filename().string();
    History stored(batch, max_points);
    try {
      read_in_child(history_child_argument, file->path,
                    [&](std::string_view piece) { stored.rows().feed(piece); });
    } catch (const Error& error) {
      notes.push_back(fmt::format("{} is not used: {}", name, printable(error.message(), 500)));
      continue;
    }
    if (stored.rows().rows() == 0) continue;
    notes.push_back(fmt::format("history.csv {}: the curves are those that {} keeps",
                                found ? "has no complete row" : "is missing", name));
    return stored.document();
  }
  return history.document();
}

}  // namespace mylos::app
