#include "commands/prediction_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "commands/output_name.hpp"
#include "mylos/base/error.hpp"
#include "mylos/data/files/column_names.hpp"
#include "mylos/data/files/file_with_room.hpp"
#include "mylos/io/files/atomic_publish.hpp"
#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos::app {
namespace {

class Hdf5Predictions final : public PredictionFile {
 public:
  Hdf5Predictions(const std::string& path, const PredictionShape& shape)
      : outputs_(shape.outputs),
        pending_(path),
        file_(
            create_with_room(pending_, shape.samples * outputs_ * static_cast<std::int64_t>(sizeof(float)))),
        result_(file_.create_dataset("/outputs", DType::fp32, {shape.samples, outputs_})) {
    file_.write_attribute("/outputs", "meaning", shape.meaning);
    file_.write_attribute("/", "checkpoint", shape.checkpoint);
    if (!shape.names.empty()) write_names(file_, shape.names_path, shape.names);
    keep_room(file_);
  }
  void write(const Share& samples, std::span<const float> values) override {
    result_.write(samples.first * outputs_, samples.count * outputs_, values.data());
  }
  void close() override { file_.close(); }
  void publish() override { pending_.publish(); }

 private:
  std::int64_t outputs_;
  PendingFile pending_;
  hdf5::File file_;
  hdf5::Dataset result_;
};

/// Rows come in any order: until the last one is there, each number has the room of the longest, filled up
/// with spaces.
class CsvPredictions final : public PredictionFile {
 public:
  CsvPredictions(const std::string& path, const PredictionShape& shape)
      : outputs_(shape.outputs), pending_(path), header_(header_of(shape)) {
    bytes_ = static_cast<std::int64_t>(header_.size()) + shape.samples * row_bytes();
    reserve_space(pending_.temporary(), bytes_);
    descriptor_ = ::open(pending_.temporary().c_str(), O_RDWR | O_CLOEXEC);
    if (descriptor_ < 0) refuse("opened");
    put(header_, 0);
  }
  ~CsvPredictions() override {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  CsvPredictions(const CsvPredictions&) = delete;
  CsvPredictions& operator=(const CsvPredictions&) = delete;

  void write(const Share& samples, std::span<const float> values) override {
    std::string rows;
    rows.reserve(values.size() * cell_bytes);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool ends_row = (i + 1) % static_cast<std::size_t>(outputs_) == 0;
      rows += fmt::format("{:<{}}{}", fmt::format("{}", values[i]), cell_bytes - 1, ends_row ? '\n' : ',');
    }
    put(rows, static_cast<std::int64_t>(header_.size()) + samples.first * row_bytes());
  }

  /// Takes the spaces out, front to back: what is written lies before what is still to be read.
  void close() override {
    std::string piece(std::size_t{1} << 20, '\0');
    auto end = static_cast<std::int64_t>(header_.size());
    for (std::int64_t first = end; first < bytes_;) {
      const ssize_t count = ::pread(descriptor_, piece.data(), piece.size(), first);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) refuse("read");
      first += count;
      std::string text = piece.substr(0, static_cast<std::size_t>(count));
      text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
      put(text, end);
      end += static_cast<std::int64_t>(text.size());
    }
    if (::ftruncate(descriptor_, end) != 0) refuse("shortened");
    if (::close(std::exchange(descriptor_, -1)) != 0) refuse("closed");
  }
  void publish() override { pending_.publish(); }

 private:
  static constexpr std::size_t cell_bytes = 20;  // "-1234567900000000" and what separates it from the next

  [[nodiscard]] std::int64_t row_bytes() const { return outputs_ * static_cast<std::int64_t>(cell_bytes); }

  static std::string quoted(const std::string& name) {
    if (name.find_first_of(",;\"\t\r ") == std::string::npos) return name;
    std::string text = "\"";
    for (const char each : name) text += each == '"' ? "\"\"" : std::string(1, each);
    return text + '"';
  }
  static std::string header_of(const PredictionShape& shape) {
    const bool has_names = static_cast<std::int64_t>(shape.names.size()) == shape.outputs;
    std::string line;
    for (std::int64_t i = 0; i < shape.outputs; ++i) {
      if (i > 0) line += ',';
      line += has_names ? quoted(shape.names[static_cast<std::size_t>(i)])
                        : fmt::format("{}_{}", shape.unnamed, i);
    }
    return line + '\n';
  }

  [[noreturn]] void refuse(const char* what) const {
    fail_run(ErrorId::cannot_write, "{}: cannot be {}: {}", pending_.temporary(), what, std::strerror(errno));
  }
  void put(std::string_view text, std::int64_t place) {
    while (!text.empty()) {
      const ssize_t count = ::pwrite(descriptor_, text.data(), text.size(), place);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) refuse("written");
      text.remove_prefix(static_cast<std::size_t>(count));
      place += count;
    }
  }

  std::int64_t outputs_;
  PendingFile pending_;
  std::string header_;
  std::int64_t bytes_ = 0;
  int descriptor_ = -1;
};

}  // namespace

std::unique_ptr<PredictionFile> make_prediction_file(const std::string& path, const PredictionShape& shape) {
  if (is_table(path)) return std::make_unique<CsvPredictions>(path, shape);
  require_hdf5_name(path);
  return std::make_unique<Hdf5Predictions>(path, shape);
}

}  // namespace mylos::app
