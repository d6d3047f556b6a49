#include "mylos/data/prepare/prepare_images.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/data/feed/permutation.hpp"
#include "mylos/data/files/dataset.hpp"
#include "mylos/data/files/dataset_writer.hpp"
#include "mylos/data/prepare/image_decoders.hpp"
#include "mylos/data/prepare/image_folder.hpp"
#include "mylos/data/prepare/image_pixels.hpp"
#include "mylos/data/prepare/input_file.hpp"

namespace mylos {
namespace {

constexpr std::uint64_t order_key = 1;  // of the order of the images in the file
constexpr std::int64_t max_file_bytes = std::int64_t{1} << 28;
/// Statistics take 72 bytes per number of a sample.
constexpr std::int64_t max_sample_numbers = std::int64_t{1} << 24;
constexpr std::int64_t image_piece_bytes = std::int64_t{1} << 20;

/// A number of files, and the first of them.
struct Counted {
  std::int64_t count = 0;
  std::string first;

  void add(const std::string& path) {
    if (count++ == 0) first = path;
  }
  void note(std::vector<std::string>& notes, const char* what) const {
    if (count > 0)
      notes.push_back(
          fmt::format("{} image{} {}; the first is {}", count, count == 1 ? "" : "s", what, first));
  }
};

/// Decodes files one by one into the form that is written.
class ImageReader {
 public:
  explicit ImageReader(const PrepareImages& job) : job_(job) {}

  /// Decodes a file. Returns the error in the file itself, or an empty text. Throws if it does not fit the
  /// others.
  [[nodiscard]] std::string read(const std::string& path) {
    const InputFile* opened = nullptr;
    std::optional<InputFile> file;
    try {
      opened = &file.emplace(path);
    } catch (const Error& error) {  // the message starts with the path
      return std::string(error.message().substr(path.size() + 2));
    }
    if (opened->bytes() > max_file_bytes) {
      return fmt::format("has {}, more than the {} that a file may have", format_bytes(opened->bytes()),
                         format_bytes(max_file_bytes));
    }
    bytes_.resize(static_cast<std::size_t>(opened->bytes()));
    if (file->read(bytes_.data(), opened->bytes()) != opened->bytes())
      return "became shorter while it was read";
    if (std::string problem = decode_image(bytes_, image_); !problem.empty()) return problem;
    if (image_.had_alpha) alpha_.add(path);
    if (image_.had_16_bits) deep_.add(path);
    bring_into_form(path);
    return "";
  }

  [[nodiscard]] const Image& image() const { return image_; }
  void note(std::vector<std::string>& notes) const {
    alpha_.note(notes, "had an alpha channel or a transparent colour, which was dropped");
    deep_.note(notes, "had 16 bits, reduced to 8");
    converted_.note(notes, channels_ == 1 ? "had colours, converted to grey"
                                          : "had only grey, converted to three channels");
    resized_.note(
        notes,
        fmt::format("had another size than {} x {}, and was resized", job_.height, job_.width).c_str());
  }

 private:
  void bring_into_form(const std::string& path) {
    if (channels_ == 0) channels_ = job_.channels == 0 ? image_.channels : job_.channels;
    if (image_.channels != channels_) {
      if (job_.channels == 0) {
        fail_input(errors::bad_image,
                   "{}: has {}, {} has {}; --channels 1 or --channels 3 converts all images", path,
                   colours_of(image_.channels), first_, colours_of(channels_));
      }
      set_channels(image_, channels_);
      converted_.add(path);
    }
    if (job_.height > 0) {
      if (job_.height * job_.width * channels_ > max_sample_numbers) {
        fail_input(errors::bad_argument,
                   "--size {}x{} of {} channels: more numbers than the {} that a sample may have",
                   job_.height, job_.width, channels_, max_sample_numbers);
      }
      if (image_.height != job_.height || image_.width != job_.width) resized_.add(path);
      resize(image_, job_.height, job_.width);
    } else if (first_.empty()) {
      height_ = image_.height;
      width_ = image_.width;
    } else if (image_.height != height_ || image_.width != width_) {
      fail_input(errors::bad_image,
                 "{}: has {} x {} pixels (height x width), {} has {} x {}; --size HxW resizes all images",
                 path, image_.height, image_.width, first_, height_, width_);
    }
    if (first_.empty()) first_ = path;
    if (image_.numbers() > max_sample_numbers) {
      fail_input(errors::too_large,
                 "{}: has {} x {} pixels of {} channels, more numbers than the {} that a sample may have; "
                 "--size HxW makes it smaller",
                 path, image_.height, image_.width, image_.channels, max_sample_numbers);
    }
  }
  static const char* colours_of(std::int64_t channels) { return channels == 1 ? "grey alone" : "colours"; }

  const PrepareImages& job_;
  Image image_;
  std::vector<std::byte> bytes_;
  std::string first_;  // the first image that was read
  std::int64_t channels_ = 0;
  std::int64_t height_ = 0;
  std::int64_t width_ = 0;
  Counted alpha_, deep_, converted_, resized_;
};

/// Removes files that cannot be decoded.
void remove_damaged(const PrepareImages& job, ImageFolder& folder, std::vector<std::string>& notes) {
  ImageReader reader(job);
  const std::size_t before = folder.files.size();
  std::erase_if(folder.files, [&](const ImageFile& file) {
    const std::string problem = reader.read(file.path);
    if (!problem.empty()) notes.push_back(fmt::format("left out {}: {}", file.path, problem));
    return !problem.empty();
  });
  if (folder.files.empty())
    fail_input(errors::bad_image, "{}: none of its {} images can be decoded; {}", job.folder, before,
               notes.back());
  if (const std::size_t out = before - folder.files.size(); out > 0)
    notes.push_back(fmt::format("{} of {} images are skipped", out, before));
}

std::vector<std::string> known_classes(const PrepareImages& job) {
  if (job.classes_of.empty()) return {};
  std::vector<std::string> names = Dataset(job.classes_of, GroundTruth::optional).class_names();
  if (names.empty()) {
    fail_input(errors::missing_dataset, "{}: has no /class_names, which `mylos prepare images` writes",
               job.classes_of);
  }
  return names;
}

/// Collects samples and writes them to the file.
class ImageRows {
 public:
  ImageRows(const PrepareImages& job, const ImageFolder& folder, const Image& first)
      : labelled_(job.labelled),
        writer_(job.out,
                {.task = job.labelled ? Task::classification : Task::none,
                 .input_type = DType::uint8,
                 .samples = static_cast<std::int64_t>(folder.files.size()),
                 .features = first.numbers(),
                 .outputs = static_cast<std::int64_t>(folder.classes.size())},
                std::filesystem::path(job.folder).lexically_normal().string(),
                fmt::format("{} {} {}", first.height, first.width, first.channels)) {
    if (labelled_) writer_.name_classes(folder.classes);
  }

  void add(const Image& image, std::int32_t label) {
    pixels_.insert(pixels_.end(), image.pixels.begin(), image.pixels.end());
    labels_.push_back(label);
    if (static_cast<std::int64_t>(pixels_.size()) >= image_piece_bytes) write();
  }
  void finish() {
    write();
    writer_.finish();
  }

 private:
  void write() {
    const auto count = static_cast<std::int64_t>(labels_.size());
    writer_.add_inputs(pixels_.data(), count);
    if (labelled_) writer_.add_labels(labels_.data(), count);
    pixels_.clear();
    labels_.clear();
  }

  bool labelled_;
  DatasetWriter writer_;
  std::vector<std::uint8_t> pixels_;
  std::vector<std::int32_t> labels_;
};

}  // namespace

std::vector<std::string> prepare(const PrepareImages& job) {
  require_image_decoders();
  ImageFolder folder = list_images(job.folder, job.labelled, known_classes(job));
  std::vector<std::string> notes;
  if (job.on_corrupt == OnCorrupt::skip) remove_damaged(job, folder, notes);
  ImageReader reader(job);
  std::optional<ImageRows> rows;
  const Permutation order(folder.files.size(), order_key);
  for (std::size_t i = 0; i < folder.files.size(); ++i) {
    const ImageFile& file = folder.files[job.labelled ? order(i) : i];
    if (const std::string problem = reader.read(file.path); !problem.empty()) {
      fail_input(errors::bad_image, "{}: {}{}", file.path, problem,
                 job.on_corrupt == OnCorrupt::fail ? "; --on-corrupt skip skips such files" : "");
    }
    if (!rows) rows.emplace(job, folder, reader.image());
    rows->add(reader.image(), file.label);
  }
  rows->finish();
  reader.note(notes);
  if (folder.skipped > 0) {
    notes.push_back(fmt::format(
        "{}: {} of what is in it {} left alone: no folder of a class, or not called .png, .jpg or .jpeg",
        job.folder, folder.skipped, folder.skipped == 1 ? "is" : "are"));
  }
  return notes;
}

ImageSize parse_image_size(const std::string& text) {
  constexpr std::int64_t largest = 1 << 16;
  ImageSize size;
  const char* const end = text.data() + text.size();
  const auto tall = std::from_chars(text.data(), end, size.height);
  const bool has_x = tall.ec == std::errc() && tall.ptr != end && (*tall.ptr == 'x' || *tall.ptr == 'X');
  const auto wide = has_x ? std::from_chars(tall.ptr + 1, end, size.width) : tall;
  const auto is_side = [](std::int64_t side) { return side >= 1 && side <= largest; };
  if (!has_x || wide.ec != std::errc() || wide.ptr != end || !is_side(size.height) || !is_side(size.width)) {
    fail_input(errors::bad_argument,
               "'{}' is not a size; expected height x width in pixels, each from 1 to {}: 224x224",
               printable(text), largest);
  }
  return size;
}

}  // namespace mylos
