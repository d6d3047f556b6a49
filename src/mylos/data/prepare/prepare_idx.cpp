#include "mylos/data/prepare/prepare_idx.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/regular_file.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/data/files/dataset_writer.hpp"

namespace mylos {
namespace {

/// Deflate compresses by at most 1032 : 1 (zlib's technical notes).
constexpr std::int64_t max_compression = 1032;
constexpr std::int64_t small_sample = std::int64_t{1} << 16;
constexpr std::int64_t idx_piece_bytes = std::int64_t{1} << 20;

/// An IDX file of unsigned bytes, read sequentially; zlib passes plain files through.
class IdxReader {
 public:
  explicit IdxReader(const std::string& path) : path_(path), file_(open(path), &gzclose) {
    std::array<std::uint8_t, 4> magic{};
    read(magic.data(), 4, "the IDX magic number");
    if (magic[0] != 0 || magic[1] != 0 || magic[3] == 0) {
      fail_input(errors::wrong_format, "{}: starts with {:02x}{:02x}{:02x}{:02x}, which is not an IDX file",
                 path, magic[0], magic[1], magic[2], magic[3]);
    }
    if (magic[2] != 8) {
      fail_input(errors::unsupported_feature, "{}: holds IDX type 0x{:02x}, expected 0x08 (unsigned bytes)",
                 path, magic[2]);
    }
    header_bytes_ = 4 + 4 * std::int64_t{magic[3]};
    for (int i = 0; i < magic[3]; ++i) {
      std::array<std::uint8_t, 4> bytes{};
      read(bytes.data(), 4, "the IDX header");
      dims_.push_back(std::int64_t{bytes[0]} << 24 | std::int64_t{bytes[1]} << 16 |
                      std::int64_t{bytes[2]} << 8 | std::int64_t{bytes[3]});
    }
    check_size();
  }

  [[nodiscard]] const std::vector<std::int64_t>& dims() const { return dims_; }
  [[nodiscard]] std::int64_t samples() const { return dims_.front(); }
  [[nodiscard]] std::int64_t sample_bytes() const { return sample_bytes_; }

  void read_samples(std::uint8_t* destination, std::int64_t count) {
    read(destination, count * sample_bytes_, "the samples that its header states");
  }

  /// Checks after the last sample that nothing follows and that gzip's checksum is right.
  void finish() {
    std::uint8_t beyond = 0;
    const int count = gzread(file_.get(), &beyond, 1);
    if (count > 0)
      fail_input(errors::damaged, "{}: continues after the {} samples that its header states", path_,
                 samples());
    if (count < 0) fail_input(errors::damaged, "{}: is damaged: {}", path_, reason());
    int status = 0;
    gzerror(file_.get(), &status);  // gzread reports no error for a truncated file
    if (status != Z_OK && status != Z_STREAM_END) {
      fail_input(errors::truncated,
                 "{}: ends before its checksum, so that its samples may be damaged; get a complete copy",
                 path_);
    }
  }

 private:
  static gzFile open(const std::string& path) {
    require_regular_file(path);
    gzFile file = gzopen(path.c_str(), "rb");
    if (file == nullptr)
      fail_input(errors::cannot_read, "{}: cannot be opened: {}", path, std::strerror(errno));
    gzbuffer(file, 1 << 17);
    return file;
  }

  [[nodiscard]] std::string reason() const {
    int status = 0;
    const std::string text = gzerror(file_.get(), &status);
    if (status == Z_ERRNO) return std::strerror(errno);
    return text.starts_with(path_ + ": ") ? text.substr(path_.size() + 2) : text;
  }

  void read(std::uint8_t* destination, std::int64_t bytes, const char* what) {
    for (std::int64_t done = 0; done < bytes;) {
      const auto wanted = static_cast<unsigned>(std::min(bytes - done, idx_piece_bytes));
      const int count = gzread(file_.get(), destination + done, wanted);
      int status = 0;
      gzerror(file_.get(), &status);
      if (count < 0 && status != Z_BUF_ERROR)
        fail_input(errors::damaged, "{}: is damaged: {}", path_, reason());
      if (count <= 0) {
        fail_input(errors::truncated, "{}: ends after {} bytes, within {}", path_, position_, what);
      }
      done += count;
      position_ += count;
    }
  }

  /// Checks before any allocation that the file can hold the elements that its header states.
  void check_size() {
    sample_bytes_ = 1;
    const auto stored = static_cast<std::int64_t>(std::filesystem::file_size(path_));
    const bool plain = gzdirect(file_.get()) != 0;
    const std::int64_t most = plain ? stored : stored * max_compression;
    std::int64_t elements = 1;
    std::string dims;
    for (std::size_t i = 0; i < dims_.size(); ++i) {
      dims += fmt::format("{}{}", i == 0 ? "" : " x ", dims_[i]);
      if (dims_[i] == 0)
        fail_input(errors::bad_dataset, "{}: states dimensions with a zero ({})", path_, dims);
      if (elements > most / dims_[i]) {
        fail_input(errors::truncated, "{}: states {} or more elements, but has only {} bytes", path_, dims,
                   stored);
      }
      elements *= dims_[i];
      if (i > 0) sample_bytes_ *= dims_[i];
    }
    // Statistics take 72 bytes per number of a sample.
    if (!plain && sample_bytes_ > std::max(stored, small_sample)) {
      fail_input(
          errors::too_large,
          "{}: states samples of {} bytes ({}), more than the compressed file has; gunzip it if that is "
          "correct",
          path_, sample_bytes_, dims);
    }
    if (plain && stored != header_bytes_ + elements) {
      fail_input(errors::damaged, "{}: states {} elements, which is {} bytes with the header, but has {}",
                 path_, dims, header_bytes_ + elements, stored);
    }
  }

  std::string path_;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
  std::vector<std::int64_t> dims_;
  std::int64_t header_bytes_ = 0;
  std::int64_t sample_bytes_ = 0;
  std::int64_t position_ = 0;
};

void require_belong_together(const PrepareIdx& job, const IdxReader& images, const IdxReader& labels) {
  if (labels.dims().size() != 1) {
    fail_input(errors::bad_dataset,
               "{}: has {} dimensions, expected [samples] (are images and labels exchanged?)", job.labels,
               labels.dims().size());
  }
  if (images.samples() != labels.samples()) {
    fail_input(errors::data_mismatch, "{}: has {} labels, {} has {} images", job.labels, labels.samples(),
               job.images, images.samples());
  }
}

/// Reads the next labels of the file, starting at the label of sample `first`.
void read_labels(const PrepareIdx& job, IdxReader& labels, std::int64_t first,
                 std::span<std::int32_t> classes) {
  std::vector<std::uint8_t> bytes(classes.size());
  labels.read_samples(bytes.data(), static_cast<std::int64_t>(bytes.size()));
  std::copy(bytes.begin(), bytes.end(), classes.begin());
  const auto bad = std::find_if(classes.begin(), classes.end(),
                                [&](std::int32_t label) { return job.classes > 0 && label >= job.classes; });
  if (bad == classes.end()) return;
  fail_input(errors::bad_label, "{}: label {} (counted from 0) is {}, expected 0 to {}", job.labels,
             first + (bad - classes.begin()), *bad, job.classes - 1);
}

}  // namespace

void prepare(const PrepareIdx& job) {
  IdxReader images(job.images);
  std::optional<IdxReader> labels;
  if (!job.labels.empty()) labels.emplace(job.labels);
  if (images.dims().size() < 2) {
    fail_input(errors::bad_dataset, "{}: has 1 dimension, expected [samples, ...]{}", job.images,
               labels ? " (are images and labels exchanged?)" : "");
  }
  if (labels) require_belong_together(job, images, *labels);
  std::string sample_shape;
  for (std::size_t i = 1; i < images.dims().size(); ++i) {
    sample_shape += fmt::format("{}{}", i == 1 ? "" : " ", images.dims()[i]);
  }
  const auto name_of = [](const std::string& path) {
    return std::filesystem::path(path).filename().string();
  };
  DatasetWriter writer(
      job.out,
      {.task = labels ? Task::classification : Task::none,
       .input_type = DType::uint8,
       .samples = images.samples(),
       .features = images.sample_bytes(),
       .outputs = labels ? job.classes : 0},
      labels ? fmt::format("{} {}", name_of(job.images), name_of(job.labels)) : name_of(job.images),
      sample_shape);

  const std::int64_t rows = std::max<std::int64_t>(1, idx_piece_bytes / images.sample_bytes());
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(rows * images.sample_bytes()));
  std::vector<std::int32_t> classes(static_cast<std::size_t>(labels ? rows : 0));
  for (std::int64_t first = 0; first < images.samples(); first += rows) {
    const std::int64_t count = std::min(rows, images.samples() - first);
    images.read_samples(pixels.data(), count);
    writer.add_inputs(pixels.data(), count);
    if (!labels) continue;
    read_labels(job, *labels, first, std::span(classes).first(static_cast<std::size_t>(count)));
    writer.add_labels(classes.data(), count);
  }
  images.finish();
  if (labels) labels->finish();
  writer.finish();
}

}  // namespace mylos
