// Reads a checkpoint: nothing is taken from a file before its digest is right, nothing from a dataset before
// its type and dimensions are the ones expected.
#pragma once

#include <string>
#include <vector>

#include "mylos/checkpoint/file/state.hpp"
#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos {

class CheckpointReader {
 public:
  /// All ranks open the same file; rank 0 checks its digest. Throws Error (bad_input) on all ranks, with the
  /// cause.
  CheckpointReader(RankGroup& ranks, const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const CheckpointHeader& header() const { return header_; }
  /// What this process has open, for who knows the file's arrays by what it holds (WeightFile).
  [[nodiscard]] const hdf5::File& file() const { return file_; }

  /// For arrays whose length only the file knows (the history's tail). Throws Error if there is none.
  [[nodiscard]] bool exists(const std::string& array_or_group) const;
  [[nodiscard]] std::vector<std::int64_t> dims(const std::string& array) const;
  /// Of an array of one dimension. Throws Error where the file has another.
  [[nodiscard]] std::int64_t length(const std::string& array) const;
  [[nodiscard]] std::string text(const std::string& path) const;

  /// All ranks call this. Fills every array (its pieces) and text of `state`, and verifies each CRC-32.
  /// Before anything is read, names, types and dimensions are compared: the first array, in the state's
  /// order, that the file has otherwise or not at all (unless it may be missing) is named by the Error
  /// (bad_input), and so is one that the file has beyond the state's in a top-level group of which the state
  /// names any ("/model"), or in a table of the history ("/history" without the groups in it,
  /// "/history/evaluations").
  void read(CheckpointState& state) const;
  /// All ranks call this. The comparison alone.
  void require_match(const CheckpointState& state) const;

 private:
  /// Not there, and need not be.
  [[nodiscard]] bool is_missing(const StateArray& array) const;
  void require_match_here(const CheckpointState& state) const;

  RankGroup& ranks_;
  std::string path_;
  hdf5::File file_;
  CheckpointHeader header_;
};

}  // namespace mylos
