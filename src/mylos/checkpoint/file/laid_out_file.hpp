// LaidOutFile: a checkpoint's file while one process has it open. HDF5 gives every array its place; the
// arrays' bytes go there by plain writes, past HDF5 and the page cache, of this process or of others; then
// the file is verified and gets its name.
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
  /// Makes the file that will be `path`, with all but the arrays' values. What fails, or is not finished,
  /// leaves nothing behind.
  LaidOutFile(const std::string& path, const CheckpointHeader& header, const CheckpointState& state);

  [[nodiscard]] const std::string& temporary() const { return pending_.temporary(); }
  /// Where each of the state's arrays begins, in bytes.
  [[nodiscard]] const std::vector<std::int64_t>& array_offsets() const { return open_->array_offsets; }

  /// `pieces`: the CRC-32s of all that was written, in any order. Throws Error (failed) where that is not the
  /// whole state, or the disk does not hold it.
  void finish(const CheckpointState& state, std::vector<PieceCrc> pieces);

 private:
  PendingFile pending_;
  std::optional<OpenFile> open_;
};

/// Writes the pieces that `state` has, where the file's arrays lie.
[[nodiscard]] std::vector<PieceCrc> write_pieces(const std::string& path,
                                                 const std::vector<std::int64_t>& array_offsets,
                                                 const CheckpointState& state);

}  // namespace mylos
