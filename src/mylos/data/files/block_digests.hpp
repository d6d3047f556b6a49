// Digests of blocks of rows: by them a reader finds what was changed in a data file since `mylos prepare`
// wrote it.
//
//   /digests/<path of a dataset>   [blocks] uint32, with the attribute rows
//
// Digest i is the CRC-32 (zlib's) of the dataset's rows [i * rows, (i + 1) * rows), of the last block of
// those that there are: row after row, each number little-endian in its stored type (labels as int32), a text
// in UTF-8. Any change within 32 adjacent bits of a block is seen, another is missed once in 2^32. A file
// without /digests is read as it is; one that has them has them of every dataset that is read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos {

/// Whether what is read is compared with the file's digests.
enum class Digests { compared, ignored };

/// Rows of a block, which is about 64 KiB: reading that much takes hardly longer than a read that jumps to a
/// single row of it, and all digests take a 16,000th of what they are of.
[[nodiscard]] std::int64_t rows_per_digest(std::int64_t row_bytes);

/// "/inputs" -> "/digests/inputs".
[[nodiscard]] std::string digests_of(const std::string& dataset);

/// The digests of rows that are given one after the other.
class BlockDigests {
 public:
  BlockDigests(std::int64_t block_rows, std::int64_t row_bytes);

  void add(const void* rows, std::int64_t count);

  /// Makes room for those of `rows` rows of the dataset, before they are known.
  void create(hdf5::File& file, const std::string& dataset, std::int64_t rows) const;
  /// After the last row.
  void write(hdf5::File& file, const std::string& dataset);

 private:
  std::int64_t block_rows_;
  std::int64_t row_bytes_;
  std::int64_t filled_ = 0;  // bytes of the block that is not whole yet
  std::uint32_t crc_ = 0;    // of those
  std::vector<std::uint32_t> digests_;
};

/// The digest of a text, as one block of one row.
void write_text_digest(hdf5::File& file, const std::string& dataset, const std::string& text);
/// Throws Error (bad_input) where the file has digests and that of this text is another.
void require_text_digest(const hdf5::File& file, const std::string& dataset, const std::string& text);

/// Throws Error (bad_input): `what` of a file, "/inputs rows 0 to 82 (counted from 0)", is not as it was
/// written.
[[noreturn]] void fail_changed(const std::string& file, const std::string& what);

}  // namespace mylos
