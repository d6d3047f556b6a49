#include "sweep_curves.hpp"

#include <array>
#include <cmath>

#include "csv_rows.hpp"
#include "run_folder.hpp"

namespace mylos::app {

SweepMetric metric_of(const std::string& name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string::npos) return {"validation", name};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

MemberCurve member_curve(const std::string& folder, const SweepMetric& metric, double end,
                         bool end_in_seconds, std::size_t max_points) {
  MemberCurve found{.curve = StepCurves(1, max_points)};
  CsvRows rows({"step", "part", metric.column, "elapsed_s"}, [&](CsvRows::Row row) {
    const auto step = step_of(row[0]);
    const auto value = number_or_nothing(row[2]);
    const auto elapsed = number_or_nothing(row[3]);
    if (!step || row[1].empty() || !value || !elapsed) return false;
    if (row[1] != metric.part) return true;
    found.curve.add(*step, std::array{*value});
    const double place = end_in_seconds ? *elapsed : static_cast<double>(*step);
    if (place <= end && std::isfinite(*value)) found.at_end = *value;
    return true;
  });
  (void)read_in_pieces(folder + "/evaluations.csv", [&](std::string_view piece) { rows.feed(piece); });
  found.damaged = rows.damaged();
  return found;
}

}  // namespace mylos::app
