#include "run_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>

#include "launch/child_process.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/checkpoint/write/folder.hpp"
#include "run_folder.hpp"
#include "step_curves.hpp"
#include "thinned_steps.hpp"

namespace mylos::app {
namespace {

constexpr std::size_t max_marks = 2000;
constexpr std::size_t max_checkpoints_tried = 3;
constexpr double missing = std::numeric_limits<double>::quiet_NaN();

/// The columns of history.csv that are read. All from the loss on are drawn; in the last five, 0 means that
/// nothing was measured.
constexpr std::array<std::string_view, 16> history_columns{"step",
                                                           "epoch",
                                                           "elapsed_s",
                                                           "overflow",
                                                           "loss",
                                                           "lr",
                                                           "gradient_norm",
                                                           "scale",
                                                           "samples_per_s",
                                                           "communication_s",
                                                           "data_wait_s",
                                                           "tokens_per_s",
                                                           "model_flop_utilisation",
                                                           "host_bytes",
                                                           "host_peak_bytes",
                                                           "device_bytes"};

consteval std::size_t column(std::string_view name) {
  const auto* found = std::find(history_columns.begin(), history_columns.end(), name);
  if (found == history_columns.end()) throw "no such column";  // which stops the compiler
  return static_cast<std::size_t>(found - history_columns.begin());
}

std::vector<std::string> curve_names() {
  std::vector<std::string> names(history_columns.begin() + column("loss"), history_columns.end());
  names.emplace_back("compute_s");
  return names;
}

/// Reads rows and reduces them to curves.
class History {
 public:
  History(double batch, std::size_t max_points)
      : batch_(batch),
        curves_(curve_names().size(), max_points),
        overflows_(max_marks),
        rows_({history_columns.begin(), history_columns.end()},
              [this](CsvRows::Row row) { return add(row); }) {}

  CsvRows& rows() { return rows_; }

  [[nodiscard]] ordered_json document() const {
    ordered_json document = {{"rows", rows_.rows()}, {"curves", json_of(curves_, curve_names())}};
    document["points_stand_for"] = curves_.width();
    if (rows_.rows() == 0) return document;
    document["step"] = last_step_;
    document["epoch"] = short_number(last_[column("epoch")]);
    document["loss"] = short_number(last_[column("loss")]);
    document["elapsed_s"] = short_number(last_[column("elapsed_s")]);
    document["broken_losses"] = broken_losses_;
    if (rows_.has(column("overflow")))
      document["overflows"] = {
          {"steps", overflows_.steps()}, {"total", overflows_.total()}, {"every", overflows_.every()}};
    return document;
  }

 private:
  using Values = std::array<double, history_columns.size()>;

  bool add(CsvRows::Row row) {
    Values values;
    for (std::size_t i = 0; i < history_columns.size(); ++i) {
      const std::optional<double> number = number_or_nothing(row[i]);
      if (!number) return false;
      values[i] = *number;
    }
    const std::optional<std::int64_t> at = step_of(row[column("step")]);
    if (!at) return false;
    if (values[column("overflow")] > 0) overflows_.add(*at);
    if (rows_.has(column("loss")) && !std::isfinite(values[column("loss")])) ++broken_losses_;
    if (*at >= last_step_) {
      last_step_ = *at;
      last_ = values;
    }
    add_to_curves(*at, values);
    return true;
  }

  void add_to_curves(std::int64_t at, Values values) {
    const double step_s = batch_ / values[column("samples_per_s")];
    const bool is_timed = batch_ > 0 && values[column("samples_per_s")] > 0;
    if (values[column("overflow")] > 0)
      values[column("gradient_norm")] = missing;  // it omits values that are not finite
    for (std::size_t i = column("tokens_per_s"); i < history_columns.size(); ++i)
      if (!(values[i] > 0)) values[i] = missing;
    std::vector<double> curves(values.begin() + column("loss"), values.end());
    curves.push_back(is_timed ? std::fmax(0.0, step_s - (values[column("communication_s")] +
                                                         values[column("data_wait_s")]))
                              : missing);
    curves_.add(at, curves);
  }

  double batch_;
  StepCurves curves_;
  ThinnedSteps overflows_;
  std::int64_t last_step_ = 0;
  Values last_{};
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
