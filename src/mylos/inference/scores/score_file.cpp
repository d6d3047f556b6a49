#include "mylos/inference/scores/score_file.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "mylos/io/files/atomic_publish.hpp"
#include "mylos/io/hdf5/hdf5_axes.hpp"

namespace mylos {
namespace {

const std::string lead_time_path = "/lead_time";
const std::string variable_path = "/variable";
const std::string wavenumber_path = "/wavenumber";

class Writer {
 public:
  explicit Writer(const std::string& path) : file_(hdf5::File::create(path)) {}

  /// Writes an array whose axes have these scales.
  template <class T>
  void add(const std::string& path, const std::string& meaning, const std::vector<T>& values,
           const std::vector<std::string>& scales) {
    std::vector<std::int64_t> dims;
    for (const std::string& scale : scales) dims.push_back(extents_.at(scale));
    if (scales.empty()) dims.push_back(std::ssize(values));
    file_.create_dataset(path, dtype_of<T>, dims).write(0, std::ssize(values), values.data());
    file_.write_attribute(path, "long_name", meaning);
    hdf5::attach_scales(file_, path, scales);
  }
  void add_names(const std::string& path, const std::vector<std::string>& names,
                 const std::vector<std::string>& scales) {
    hdf5::write_labels(file_, path, names);
    hdf5::attach_scales(file_, path, scales);
  }
  void make_scale(const std::string& path, std::int64_t extent) {
    hdf5::make_scale(file_, path, path.substr(1));
    extents_[path] = extent;
  }
  [[nodiscard]] hdf5::File& file() { return file_; }

 private:
  hdf5::File file_;
  std::map<std::string, std::int64_t> extents_;  // of each scale
};

/// Writes the spectra after each step, NaN where one is not known.
void add_spectra(Writer& writer, std::span<const StepSpectrum> spectra) {
  struct Part {
    const char* path;
    const char* meaning;
    std::vector<double> StepSpectrum::*values;
  };
  constexpr Part parts[] = {
      {"/spectrum", "mean square by wavenumber", &StepSpectrum::network},
      {"/truth_spectrum", "mean square of the truth by wavenumber", &StepSpectrum::truth},
      {"/error_spectrum", "mean square error by wavenumber", &StepSpectrum::error}};
  const std::size_t width = spectra.back().network.size();
  std::vector<std::int64_t> wavenumbers(width / static_cast<std::size_t>(spectra.back().channels));
  std::iota(wavenumbers.begin(), wavenumbers.end(), 0);
  writer.add(wavenumber_path, "periods on the grid", wavenumbers, {});
  writer.make_scale(wavenumber_path, std::ssize(wavenumbers));
  for (const Part& part : parts) {
    std::vector<float> values;
    for (const StepSpectrum& of : spectra.subspan(1)) {
      const std::vector<double>& known = of.*part.values;
      std::ranges::transform(known, std::back_inserter(values),
                             [](double value) { return static_cast<float>(value); });
      values.resize(values.size() + width - known.size(), std::numeric_limits<float>::quiet_NaN());
    }
    if (std::ranges::all_of(values, [](float value) { return std::isnan(value); })) continue;
    writer.add(part.path, part.meaning, values, {lead_time_path, variable_path, wavenumber_path});
  }
}

}  // namespace

void write_score_file(const std::string& path, const StepScores& scores, const ScoreAxes& axes,
                      std::span<const StepSpectrum> spectra, const std::string& checkpoint) {
  PendingFile pending(path);
  Writer writer(pending.temporary());
  writer.file().write_attribute("/", "checkpoint", checkpoint);
  writer.add(lead_time_path, "levels after the start", axes.levels, {});
  writer.make_scale(lead_time_path, std::ssize(axes.levels));
  writer.add_names(variable_path, axes.variables, {});
  writer.make_scale(variable_path, scores.channels);
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
  if (!spectra.empty()) add_spectra(writer, spectra);
  writer.file().close();
  pending.publish();
}

}  // namespace mylos
