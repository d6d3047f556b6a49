// A reader of checkpoints and model files. It verifies a file's digest before it uses the file, and type and
// dimensions of a dataset before it reads the dataset.
#pragma once

#include <string>
#include <vector>

#include "mylos/checkpoint/file/state.hpp"
#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos {

class CheckpointReader {
 public:
  /// Opens the file on all ranks; rank 0 verifies its digest. Throws Error (bad_input) on all ranks, with the
  /// cause.
  CheckpointReader(RankGroup& ranks, const std::string& path,
                   ReadableKinds kinds = ReadableKinds::checkpoints);

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Returns the ranks that have opened the file, for functions that all of them call.
  [[nodiscard]] RankGroup& ranks() const { return ranks_; }
  [[nodiscard]] const CheckpointHeader& header() const { return header_; }
  /// Returns the open file, for readers that find its arrays by listing them (WeightFile).
  [[nodiscard]] const hdf5::File& file() const { return file_; }

  /// Returns whether the file has this array or group.
  [[nodiscard]] bool exists(const std::string& array_or_group) const;
  [[nodiscard]] std::vector<std::int64_t> dims(const std::string& array) const;
  /// Returns the length of a one-dimensional array. Throws Error if it has another number of dimensions.
  [[nodiscard]] std::int64_t length(const std::string& array) const;
  [[nodiscard]] std::string text(const std::string& path) const;

  /// Reads every array (its pieces) and text of `state`, and verifies each CRC-32. All ranks call this.
  /// Names, types and dimensions are compared before anything is read. Throws Error (bad_input) that names
  /// the first array, in the state's order, that differs in the file or is missing (unless it may be
  /// missing), or the first that the file has in addition. The latter is checked in top-level groups of which
  /// the state has a member ("/model"), and in tables of the history ("/history" without the groups in it,
  /// "/history/evaluations").
  void read(CheckpointState& state) const;
  /// Makes this comparison only. All ranks call this.
  void require_match(const CheckpointState& state) const;

 private:
  /// Returns whether the array is missing and may be missing.
  [[nodiscard]] bool is_missing(const StateArray& array) const;
  void require_match_here(const CheckpointState& state) const;

  RankGroup& ranks_;
  std::string path_;
  FileKind kind_;
  hdf5::File file_;
  CheckpointHeader header_;
};

}  // namespace mylos
