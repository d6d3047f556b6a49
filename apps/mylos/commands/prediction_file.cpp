#include "commands/prediction_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "commands/output_name.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/data/files/meaning/column_names.hpp"
#include "mylos/io/files/atomic_publish.hpp"
#include "mylos/io/hdf5/hdf5.hpp"
#include "mylos/io/hdf5/hdf5_axes.hpp"

namespace mylos::app {
namespace {

class Hdf5Predictions final : public PredictionFile {
 public:
  Hdf5Predictions(const std::string& path, const PredictionShape& shape)
      : samples_(shape.samples),
        outputs_(shape.outputs),
        extents_(shape.extents),
        parts_(shape.parts),
        pending_(path),
        file_(hdf5::File::create(pending_.temporary())) {
    add("/outputs", {samples_, outputs_}, shape.meaning);
    file_.write_attribute("/", "checkpoint", shape.checkpoint);
    if (parts_.has_deviation)
      add("/standard_deviation", {samples_, outputs_}, "standard deviation of /outputs");
    if (parts_.coverage) {
      add("/lower", {samples_, outputs_}, "lower end of an interval for each output");
      add("/upper", {samples_, outputs_}, "upper end of an interval for each output");
      for (const char* name : {"/lower", "/upper"})
        hdf5::write_number_attribute(file_, name, "coverage", *parts_.coverage);
    }
    const auto levels = static_cast<std::int64_t>(parts_.quantiles.size());
    if (levels > 0) {
      add("/quantiles", {levels, samples_, outputs_}, shape.meaning + ", at each of /levels");
      file_.create_dataset("/levels", DType::fp64, {levels}).write(0, levels, parts_.quantiles.data());
    }
    if (parts_.members > 0) add("/members", {parts_.members, samples_, outputs_}, shape.meaning);
    if (!shape.names.empty()) write_names(file_, shape.names_path, shape.names);
    file_.reserve();
  }
  void write(const PredictionArray& array, const ComputedSamples& samples,
             std::span<const float> values) override {
    const std::int64_t first = (array.member * samples_ + samples.first) * outputs_;
    hdf5::Dataset& dataset = datasets_[parts_.index_of({array.part, 0})];
    if (!samples.part.is_split()) return dataset.write(first, samples.count * outputs_, values.data());
    const GridBox box = box_of(samples.part, extents_, pending_.temporary());
    const std::int64_t channels = outputs_ / box.grid_points();
    const float* source = values.data();
    for (std::int64_t row = 0; row < samples.count; ++row, source += box.points() * channels) {
      box.for_lines([&](std::int64_t from, std::int64_t to) {
        dataset.write(first + row * outputs_ + to * channels, box.count[2] * channels,
                      source + from * channels);
      });
    }
  }
  void close() override { file_.close(); }
  void publish() override { pending_.publish(); }

 private:
  /// Datasets come in the order of PredictionParts; all quantiles are one, and all members.
  void add(const char* name, const std::vector<std::int64_t>& dims, const std::string& meaning) {
    datasets_.push_back(file_.create_dataset(name, DType::fp32, dims));
    file_.write_attribute(name, "meaning", meaning);
  }

  std::int64_t samples_;
  std::int64_t outputs_;
  std::vector<std::int64_t> extents_;  // of the grid of boxes
  PredictionParts parts_;
  PendingFile pending_;
  hdf5::File file_;
  std::vector<hdf5::Dataset> datasets_;
};

/// Numbers come in any order: until the last one is there, each has the room of the longest, filled up with
/// spaces.
class CsvPredictions final : public PredictionFile {
 public:
  CsvPredictions(const std::string& path, const PredictionShape& shape)
      : outputs_(shape.outputs),
        parts_(shape.parts),
        arrays_(static_cast<std::int64_t>(parts_.arrays().size())),
        pending_(path),
        header_(header_of(path, shape)) {
    bytes_ = static_cast<std::int64_t>(header_.size()) + shape.samples * row_bytes();
    reserve_space(pending_.temporary(), bytes_);
    pending_.file().write(0, header_);
  }

  void write(const PredictionArray& array, const ComputedSamples& samples,
             std::span<const float> values) override {
    const auto first = static_cast<std::int64_t>(parts_.index_of(array));
    const std::int64_t rows_at_once = std::max<std::int64_t>(1, piece_bytes / row_bytes());
    for (std::int64_t row = 0; row < samples.count; row += rows_at_once) {
      const std::int64_t count = std::min(rows_at_once, samples.count - row);
      write_rows(first, samples.first + row,
                 values.subspan(static_cast<std::size_t>(row * outputs_),
                                static_cast<std::size_t>(count * outputs_)));
    }
  }

  /// Takes the spaces out, front to back: what is written lies before what is still to be read.
  void close() override {
    auto end = static_cast<std::int64_t>(header_.size());
    for (std::int64_t first = end; first < bytes_;) {
      std::string text(static_cast<std::size_t>(std::min(bytes_ - first, piece_bytes)), '\0');
      pending_.file().read(first, text);
      first += static_cast<std::int64_t>(text.size());
      text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
      pending_.file().write(end, text);
      end += static_cast<std::int64_t>(text.size());
    }
    pending_.file().truncate(end);
  }
  void publish() override { pending_.publish(); }

 private:
  static constexpr std::int64_t cell_bytes = 20;  // "-1234567900000000" and what separates it from the next
  static constexpr std::int64_t piece_bytes = std::int64_t{1} << 20;

  [[nodiscard]] std::int64_t row_bytes() const { return outputs_ * arrays_ * cell_bytes; }

  /// Writes the column `first` of each target's columns in the rows from `first_row` on.
  void write_rows(std::int64_t first, std::int64_t first_row, std::span<const float> values) {
    const std::int64_t offset = static_cast<std::int64_t>(header_.size()) + first_row * row_bytes();
    std::string rows(
        values.size() / static_cast<std::size_t>(outputs_) * static_cast<std::size_t>(row_bytes()), ' ');
    if (arrays_ > 1) pending_.file().read(offset, rows);  // the cells of the other columns
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::int64_t column = static_cast<std::int64_t>(i) % outputs_ * arrays_ + first;
      const std::int64_t row = static_cast<std::int64_t>(i) / outputs_;
      const char end = column + 1 == outputs_ * arrays_ ? '\n' : ',';
      fmt::format_to(rows.data() + row * row_bytes() + column * cell_bytes, "{:<{}}{}",
                     fmt::format("{}", values[i]), cell_bytes - 1, end);
    }
    pending_.file().write(offset, rows);
  }
  static std::string quoted(const std::string& name) {
    if (name.find_first_of(",;\"\t\r ") == std::string::npos) return name;
    std::string text = "\"";
    for (const char each : name) text += each == '"' ? "\"\"" : std::string(1, each);
    return text + '"';
  }
  /// The columns of a target stand side by side.
  static std::string header_of(const std::string& path, const PredictionShape& shape) {
    const bool has_names = static_cast<std::int64_t>(shape.names.size()) == shape.outputs;
    std::string line;
    std::set<std::string> names;
    for (std::int64_t i = 0; i < shape.outputs; ++i) {
      const std::string target =
          has_names ? shape.names[static_cast<std::size_t>(i)] : fmt::format("{}_{}", shape.unnamed, i);
      for (const PredictionArray& array : shape.parts.arrays()) {
        const std::string name = target + shape.parts.column_suffix(array);
        if (!names.insert(name).second && array.part != PredictionPart::mean) {
          fail_input(errors::bad_names, "{}: two columns would be called '{}'; name an HDF5 file, {}", path,
                     printable(name), std::filesystem::path(path).replace_extension(".h5").string());
        }
        line += line.empty() ? "" : ",";
        line += quoted(name);
      }
    }
    return line + '\n';
  }

  std::int64_t outputs_;
  PredictionParts parts_;
  std::int64_t arrays_;  // columns of a target
  PendingFile pending_;
  std::string header_;
  std::int64_t bytes_ = 0;
};

}  // namespace

std::unique_ptr<PredictionFile> make_prediction_file(const std::string& path, const PredictionShape& shape) {
  if (is_table(path)) return std::make_unique<CsvPredictions>(path, shape);
  require_hdf5_name(path, ", or with the ending .csv for a table");
  return std::make_unique<Hdf5Predictions>(path, shape);
}

}  // namespace mylos::app
