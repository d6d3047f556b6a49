#include "mylos/checkpoint/file/weight_file.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "mylos/base/dispatch.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/checkpoint/file/describe.hpp"
#include "mylos/checkpoint/file/stored_bytes.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/io/files/digest.hpp"

namespace mylos {
namespace {

constexpr const char* model_group = "/model";
constexpr const char* average_group = "/average";
constexpr const char* buffers_group = "/buffers";

/// Adds the entries of `top`, which has one group per layer.
void add_entries(const hdf5::File& file, const std::string& top, std::vector<WeightEntry>& entries) {
  for (const hdf5::Child& layer : file.children(top)) {
    if (layer.kind != hdf5::ObjectKind::group) continue;
    const std::string group = fmt::format("{}/{}", top, layer.name);
    for (const hdf5::Child& parameter : file.children(group)) {
      if (parameter.kind != hdf5::ObjectKind::dataset) continue;
      entries.push_back(
          {layer.name + "/" + parameter.name, file.dataset(group + "/" + parameter.name).dims(), top});
    }
  }
}

std::vector<WeightEntry> entries_of_checkpoint(const hdf5::File& file, StoredWeights wanted) {
  std::vector<WeightEntry> entries;
  if (!file.exists(model_group))
    fail_input(errors::missing_dataset, "{}: has no {}, which holds the weights", file.path(), model_group);
  const bool of_average = wanted == StoredWeights::average;
  if (of_average && !file.exists(average_group)) {
    fail_input(
        errors::no_average,
        "{}: has no average of its weights, which a run keeps where its deck says optimizer.average = 0.999, "
        "or another decay; leave out initial.average",
        file.path());
  }
  add_entries(file, of_average ? average_group : model_group, entries);
  if (file.exists(buffers_group)) add_entries(file, buffers_group, entries);
  return entries;
}

/// Returns the tensors, without the statistics that `mylos convert` writes in addition to the weights.
std::vector<WeightEntry> entries_of_tensors(const safetensors::Reader& reader) {
  const bool is_ours = reader.metadata().contains(WeightMetadata::layout);
  std::vector<WeightEntry> entries;
  for (const safetensors::Entry& entry : reader.entries()) {
    if (is_ours && entry.name.starts_with(WeightMetadata::statistics)) continue;
    entries.push_back({entry.name, entry.shape});
  }
  return entries;
}

std::string digest_of(const std::vector<WeightEntry>& entries) {
  std::string text;
  for (const WeightEntry& entry : entries) text += fmt::format("{} {}\n", entry.name, entry.shape());
  return fmt::format("{:08x} of {}", crc32_of(text.data(), text.size()), text.size());
}

}  // namespace

std::int64_t WeightEntry::size() const {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  std::int64_t elements = 1;
  for (const std::int64_t extent : dims) elements *= extent;
  return elements;
}

std::string WeightEntry::shape() const {
  return fmt::format("[{}]", fmt::join(dims, ", "));
}

WeightFile::WeightFile(RankGroup& ranks, const std::string& path, StoredWeights wanted)
    : path_(path), wanted_(wanted) {
  open(ranks);
  const std::string own = digest_of(entries_);
  const std::string first = broadcast_text(ranks, own);
  run_on_all(ranks, [&] {
    if (own != first)
      fail_input(errors::ranks_disagree, "{}: does not hold the same tensors on this rank as on rank 0",
                 path_);
  });
}

void WeightFile::open(RankGroup& ranks) {
  bool is_checkpoint = false;
  run_on_all(ranks, [&] {
    std::error_code failure;
    if (!std::filesystem::exists(path_, failure))
      fail_input(errors::no_such_file, "{}: there is no such file{}", path_, current_folder_note(path_));
    if (!std::filesystem::is_regular_file(path_, failure))
      fail_input(errors::not_a_file,
                 "{}: is not a file; the newest checkpoint of a run is named in its checkpoints/latest",
                 path_);
    is_checkpoint = looks_like_checkpoint(path_);
  });
  char any = is_checkpoint ? 1 : 0;
  ranks.broadcast(&any, sizeof any, 0);  // the readers below exchange messages themselves
  if (any != 0) checkpoint_ = std::make_unique<CheckpointReader>(ranks, path_, ReadableKinds::all);
  run_on_all(ranks, [&] {
    if (checkpoint_) {
      entries_ = entries_of_checkpoint(checkpoint_->file(), wanted_);
      return;
    }
    if (std::filesystem::path(path_).extension() != ".safetensors")
      fail_input(errors::wrong_format,
                 "{}: is neither a checkpoint, nor a model file, nor named FILE.safetensors", path_);
    if (wanted_ == StoredWeights::average) {
      fail_input(
          errors::no_average,
          "{}: initial.average takes the moving average that a checkpoint keeps, and this is safetensors; "
          "leave it out",
          path_);
    }
    tensors_ = std::make_unique<safetensors::Reader>(path_);
    entries_ = entries_of_tensors(*tensors_);
  });
}

void WeightFile::require_readable(const WeightEntry& entry) const {
  if (tensors_) return tensors_->require_readable(*tensors_->find(entry.name));
  const hdf5::Dataset dataset = checkpoint_->file().dataset(fmt::format("{}/{}", entry.group, entry.name));
  const bool is_model = checkpoint_->header().kind == FileKind::model;
  if (dataset.type() == DType::fp32) return;
  if (is_model && (dataset.type() == DType::fp16 || dataset.type() == DType::bf16)) return;
  fail_input(errors::bad_dataset, "{}: {} holds {}, weights are float32{}", path_, printable(dataset.path()),
             dataset.type_name(), is_model ? ", float16 or bfloat16" : "");
}

void WeightFile::read(const WeightEntry& entry, std::int64_t first, std::span<float> values) {
  if (tensors_) return tensors_->read(*tensors_->find(entry.name), first, values);
  if (first == 0) {
    dataset_ = checkpoint_->file().dataset(fmt::format("{}/{}", entry.group, entry.name));
    crc_ = 0;
  }
  const auto count = static_cast<std::int64_t>(values.size());
  dispatch(dataset_.value().type().value(), [&]<class T>(TypeTag<T>) {
    std::vector<T> stored(values.size());
    dataset_->read_unconverted(first, count, stored.data());
    std::transform(stored.begin(), stored.end(), values.begin(), [](T value) { return to_float(value); });
    crc_ = crc32_of(stored.data(), stored.size() * sizeof(T), crc_);
  });
  if (first + count == entry.size()) require_crc(checkpoint_->file(), dataset_->path(), crc_);
}

WeightFile::Doubles WeightFile::statistic(const std::string& name) {
  if (!tensors_ || !says_layout()) return {};
  const safetensors::Entry* entry = tensors_->find(WeightMetadata::statistics + name);
  if (entry == nullptr) return {};
  return {entry->shape, tensors_->read_doubles(*entry)};
}

std::string WeightFile::kind() const {
  if (!checkpoint_) return "safetensors";
  return fmt::format("{}{} of step {}", wanted_ == StoredWeights::average ? "average of weights in the " : "",
                     checkpoint_->header().kind == FileKind::model ? "model file" : "checkpoint",
                     checkpoint_->header().step);
}

std::string WeightFile::metadata(const char* key) const {
  if (!tensors_) return "";
  const auto found = tensors_->metadata().find(key);
  return found == tensors_->metadata().end() ? "" : found->second;
}

std::string WeightFile::deck() const {
  return checkpoint_ ? checkpoint_->header().deck : metadata(WeightMetadata::deck);
}

bool WeightFile::is_channels_first() const {
  return metadata(WeightMetadata::layout) == WeightMetadata::channels_first;
}

bool WeightFile::says_layout() const {
  return is_checkpoint() || !metadata(WeightMetadata::layout).empty();
}

std::string WeightFile::parameter_name(const std::string& name) const {
  const auto dot = name.rfind('.');
  if (checkpoint_ || dot == std::string::npos) return name;
  return name.substr(0, dot) + "/" + name.substr(dot + 1);
}

}  // namespace mylos
