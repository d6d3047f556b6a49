#include "mylos/inference/scores/score_file.hpp"

#include <algorithm>

#include "mylos/io/files/atomic_publish.hpp"
#include "mylos/io/hdf5/hdf5_axes.hpp"

namespace mylos {
namespace {

const std::string lead_time_path = "/lead_time";
const std::string variable_path = "/variable";

class Writer {
 public:
  explicit Writer(const std::string& path) : file_(hdf5::File::create(path)) {}

  /// Writes an array whose axes have these scales.
  template <class T>
  void add(const std::string& path, const std::string& meaning, const std::vector<T>& values,
           const std::vector<std::string>& scales) {
    std::vector<std::int64_t> dims{std::ssize(values)};
    if (scales.size() == 2) dims = {std::ssize(values) / variables_, variables_};
    file_.create_dataset(path, dtype_of<T>, dims).write(0, std::ssize(values), values.data());
    file_.write_attribute(path, "long_name", meaning);
    hdf5::attach_scales(file_, path, scales);
  }
  void add_names(const std::string& path, const std::vector<std::string>& names,
                 const std::vector<std::string>& scales) {
    hdf5::write_labels(file_, path, names);
    hdf5::attach_scales(file_, path, scales);
  }
  void make_scale(const std::string& path) { hdf5::make_scale(file_, path, path.substr(1)); }
  void set_variables(std::int64_t count) { variables_ = count; }
  [[nodiscard]] hdf5::File& file() { return file_; }

 private:
  hdf5::File file_;
  std::int64_t variables_ = 1;
};

}  // namespace

void write_score_file(const std::string& path, const StepScores& scores, const ScoreAxes& axes,
                      const std::string& checkpoint) {
  PendingFile pending(path);
  Writer writer(pending.temporary());
  writer.set_variables(scores.channels);
  writer.file().write_attribute("/", "checkpoint", checkpoint);
  writer.add(lead_time_path, "levels after the start", axes.levels, {});
  writer.make_scale(lead_time_path);
  writer.add_names(variable_path, axes.variables, {});
  writer.make_scale(variable_path);
  if (axes.level_duration > 0) {
    std::vector<double> durations;
    for (const std::int64_t level : axes.levels)
      durations.push_back(static_cast<double>(level) * axes.level_duration);
    writer.add("/lead_duration", "time after the start", durations, {lead_time_path});
    if (!axes.duration_unit.empty())
      writer.file().write_attribute("/lead_duration", "units", axes.duration_unit);
  }
  if (std::ranges::any_of(axes.units, [](const std::string& unit) { return !unit.empty(); }))
    writer.add_names("/units", axes.units, {variable_path});
  writer.add("/starts", "rollouts that have a truth", scores.starts, {lead_time_path});
  for (const ScoreTable& table : score_tables(scores)) {
    writer.add("/" + table.name, table.meaning, table.values, {lead_time_path, variable_path});
    if (!table.is_in_units) writer.file().write_attribute("/" + table.name, "units", "1");
    if (table.name.starts_with("interval_"))
      hdf5::write_number_attribute(writer.file(), "/" + table.name, "coverage", scores.coverage);
  }
  writer.file().close();
  pending.publish();
}

}  // namespace mylos
