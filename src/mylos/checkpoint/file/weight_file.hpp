// WeightFile: the weights in a checkpoint or in a safetensors file, by the names that they have there.
//
// Every rank opens the file and knows what it holds; who reads numbers of it is the caller's choice. Nothing
// is taken for a tensor before it is read, and a file from outside is checked as CheckpointReader and
// safetensors::Reader say.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/io/safetensors/safetensors.hpp"

namespace mylos {

/// Of a checkpoint: its weights, or their moving average.
enum class StoredWeights { current, average };

/// What `mylos convert` says in the metadata of a safetensors file, and the tensors that are no weights in
/// it.
struct WeightMetadata {
  static constexpr const char* layout = "mylos.layout";
  static constexpr const char* channels_first =
      "channels_first";  // as PyTorch (model/parameters/channels_first.hpp)
  static constexpr const char* channels_last = "channels_last";  // as a checkpoint
  static constexpr const char* deck = "mylos.deck";              // of the run, resolved
  static constexpr const char* step = "mylos.step";
  static constexpr const char* normalization = "mylos.normalization";  // in words
  static constexpr const char* statistics = "normalization.";          // how the names of its tensors begin
};

/// A tensor of the file.
struct WeightEntry {
  std::string name;                // as the file has it: "hidden1/weight", "hidden1.weight"
  std::vector<std::int64_t> dims;  // [outputs, inputs] of a matrix
  std::string group = {};          // of a checkpoint: "/model", "/average", "/buffers" (running statistics)

  [[nodiscard]] std::int64_t size() const;
  /// "[24, 12]"
  [[nodiscard]] std::string shape() const;
};

class WeightFile {
 public:
  /// All ranks. Throws Error (bad_input) on all of them where it is neither kind of file, or damaged, and
  /// where ranks find different ones under its name, or it has no average where that is wanted.
  WeightFile(RankGroup& ranks, const std::string& path, StoredWeights wanted = StoredWeights::current);

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Everything under /model (or /average) and /buffers, or every tensor.
  [[nodiscard]] const std::vector<WeightEntry>& entries() const { return entries_; }
  /// Throws Error (bad_input) unless its numbers are floats: of 32 bits in a checkpoint, of 16 too in
  /// safetensors.
  void require_readable(const WeightEntry& entry) const;
  /// Elements of `entry` from `first` on, as float. From the first to the last they are read in order, so
  /// that a checkpoint's are compared with their CRC-32 at the end: throws Error (bad_input) where they
  /// differ.
  void read(const WeightEntry& entry, std::int64_t first, std::span<float> values);
  /// "checkpoint of step 500", "average of weights in the checkpoint of step 500" or "safetensors".
  [[nodiscard]] std::string kind() const;
  [[nodiscard]] bool is_checkpoint() const { return checkpoint_ != nullptr; }
  /// The deck of the run whose weights these are; "" where the file does not say it.
  [[nodiscard]] std::string deck() const;
  /// The grid of that run's samples, 1 to 3 extents, then channels, where the file says it.
  [[nodiscard]] std::vector<std::int64_t> grid() const;
  /// Whether channels lie before points in it, as `mylos convert` writes and says.
  [[nodiscard]] bool is_channels_first() const;
  /// Whether it is known in which order its numbers lie; a file from elsewhere does not say it.
  [[nodiscard]] bool says_layout() const;
  /// Null where it is no checkpoint.
  [[nodiscard]] const CheckpointReader* checkpoint() const { return checkpoint_.get(); }
  /// The name that a parameter of a network has here, "hidden1/weight", under the name of the file: a
  /// checkpoint has the same, safetensors "hidden1.weight".
  [[nodiscard]] std::string parameter_name(const std::string& name) const;

 private:
  void open(RankGroup& ranks);
  [[nodiscard]] std::string metadata(const char* key) const;

  std::string path_;
  StoredWeights wanted_;
  std::unique_ptr<CheckpointReader> checkpoint_;  // one of the two
  std::unique_ptr<safetensors::Reader> tensors_;
  std::vector<WeightEntry> entries_;
  std::optional<hdf5::Dataset> dataset_;  // of which the last numbers were read, and their CRC-32 so far
  std::uint32_t crc_ = 0;
};

}  // namespace mylos
