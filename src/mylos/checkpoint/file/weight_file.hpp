// WeightFile: the weights in a checkpoint, a model or a safetensors file, by their names in the file.
//
// Every rank opens the file and lists its tensors; the caller decides which ranks read numbers. No memory is
// allocated for a tensor before it is read. A file from outside is checked as described in CheckpointReader
// and safetensors::Reader.
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

/// The weights of a checkpoint, or their moving average.
enum class StoredWeights { current, average };

/// The metadata that `mylos convert` writes to a safetensors file, and the names of the tensors in it that
/// are not weights.
struct WeightMetadata {
  static constexpr const char* layout = "mylos.layout";
  static constexpr const char* channels_first = "channels_first";  // as in PyTorch
  static constexpr const char* channels_last = "channels_last";    // as in a checkpoint
  static constexpr const char* deck = "mylos.deck";                // of the run, resolved
  static constexpr const char* step = "mylos.step";
  static constexpr const char* normalization = "mylos.normalization";  // in words
  static constexpr const char* statistics = "normalization.";  // prefix of the statistics' tensor names
};

/// A tensor of the file.
struct WeightEntry {
  std::string name;                // name in the file: "hidden1/weight", "hidden1.weight"
  std::vector<std::int64_t> dims;  // [outputs, inputs] of a matrix
  std::string group = {};          // in a checkpoint: "/model", "/average", "/buffers" (running statistics)

  [[nodiscard]] std::int64_t size() const;
  /// Returns "[24, 12]".
  [[nodiscard]] std::string shape() const;
};

class WeightFile {
 public:
  /// Opens the file. All ranks call this. Throws Error (bad_input) on all of them if it is neither kind of
  /// file, is damaged, differs between ranks, or has no average if `wanted` is the average.
  WeightFile(RankGroup& ranks, const std::string& path, StoredWeights wanted = StoredWeights::current);

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Returns the datasets under /model (or /average) and /buffers, or all tensors.
  [[nodiscard]] const std::vector<WeightEntry>& entries() const { return entries_; }
  /// Throws Error (bad_input) unless its numbers are floats: 32-bit in a checkpoint, 32-bit or 16-bit in a
  /// model and in safetensors.
  void require_readable(const WeightEntry& entry) const;
  /// Reads elements of `entry` from `first` on, as float. The caller reads an entry in order from the first
  /// to the last element, so that the CRC-32 of a checkpoint's dataset is verified at the end: throws Error
  /// (bad_input) if it differs.
  void read(const WeightEntry& entry, std::int64_t first, std::span<float> values);
  /// A tensor of doubles, row by row.
  struct Doubles {
    std::vector<std::int64_t> dims;
    std::vector<double> values;
  };
  /// Returns the statistic "inputs.shift" of the data that `mylos convert` writes beside the weights; empty
  /// if the file has none. Throws Error (bad_input) if it does not hold doubles.
  [[nodiscard]] Doubles statistic(const std::string& name);
  /// Returns "checkpoint of step 500", "average of weights in the checkpoint of step 500", "model file of
  /// step 500" or "safetensors".
  [[nodiscard]] std::string kind() const;
  [[nodiscard]] bool is_checkpoint() const { return checkpoint_ != nullptr; }
  /// Returns the deck of the run that produced the weights; "" if the file does not contain it.
  [[nodiscard]] std::string deck() const;
  /// Returns whether channels precede points, as `mylos convert` writes and records it.
  [[nodiscard]] bool is_channels_first() const;
  /// Returns whether the order of the numbers is known; files from elsewhere do not state it.
  [[nodiscard]] bool says_layout() const;
  /// Returns the checkpoint or model, or null if the file is none.
  [[nodiscard]] const CheckpointReader* checkpoint() const { return checkpoint_.get(); }
  /// Returns the network's name, "hidden1/weight", of a tensor of the file: checkpoints use the same name,
  /// safetensors "hidden1.weight".
  [[nodiscard]] std::string parameter_name(const std::string& name) const;

 private:
  void open(RankGroup& ranks);
  [[nodiscard]] std::string metadata(const char* key) const;

  std::string path_;
  StoredWeights wanted_;
  std::unique_ptr<CheckpointReader> checkpoint_;  // exactly one of these two is set
  std::unique_ptr<safetensors::Reader> tensors_;
  std::vector<WeightEntry> entries_;
  std::optional<hdf5::Dataset> dataset_;  // the dataset being read, and its CRC-32 so far
  std::uint32_t crc_ = 0;
};

}  // namespace mylos
