// LaidOutFile: a checkpoint or model file during writing, opened by one process. HDF5 assigns an offset to
// every array. This process or others write the arrays' bytes there by plain writes that bypass HDF5 and the
// page cache. Then the file is verified and renamed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mylos/checkpoint/file/file_structure.hpp"
#include "mylos/checkpoint/file/writing_group.hpp"
#include "mylos/io/files/atomic_publish.hpp"

namespace mylos {

class LaidOutFile {
 public:
  /// Creates the temporary file of `path` with everything except the arrays' values. The file is removed if
  /// writing fails or finish() is not called.
  LaidOutFile(const std::string& path, const CheckpointHeader& header, const CheckpointState& state);

  [[nodiscard]] const std::string& temporary() const { return pending_.temporary(); }
  /// Returns the offset of each of the state's arrays in the file, in bytes.
  [[nodiscard]] const std::vector<std::int64_t>& array_offsets() const { return open_->array_offsets; }

  /// Verifies and publishes the file. `pieces`: the CRC-32s of all written pieces, in any order. Throws Error
  /// (failed) if they do not cover the complete state, or if the data on disk differs.
  void finish(const CheckpointState& state, std::vector<PieceCrc> pieces);

 private:
  PendingFile pending_;
  FileKind kind_;
  std::optional<OpenFile> open_;
};

/// Writes the pieces of `state` at the offsets of the file's arrays. Returns their CRC-32s.
[[nodiscard]] std::vector<PieceCrc> write_pieces(const std::string& path,
                                                 const std::vector<std::int64_t>& array_offsets,
                                                 const CheckpointState& state);

}  // namespace mylos
