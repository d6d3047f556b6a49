// Digests of blocks of rows: with them a reader detects changes in a data file since `mylos prepare` wrote
// it.
//
//   /digests/<path of a dataset>   [blocks] uint32, with the attribute rows
//
// Digest i is the CRC-32 (zlib's) of the dataset's rows [i * rows, (i + 1) * rows); the last block may be
// shorter. Rows are in order, each number little-endian in its stored type (labels as int32), texts in UTF-8.
// A change within 32 adjacent bits of a block is always detected; another change is missed with probability
// 2^-32. A file without /digests is read without checks; a file with /digests has them for every dataset that
// is read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos {

/// Whether data are compared with the file's digests when they are read.
enum class Digests { compared, ignored };

/// Returns the rows of a block of about 64 KiB: reading a block takes little longer than reading a single row
/// at a random offset, and all digests take 1/16,000 of the bytes that they cover.
[[nodiscard]] std::int64_t rows_per_digest(std::int64_t row_bytes);

/// "/inputs" -> "/digests/inputs".
[[nodiscard]] std::string digests_of(const std::string& dataset);

/// Computes the digests of rows that are added in order.
class BlockDigests {
 public:
  BlockDigests(std::int64_t block_rows, std::int64_t row_bytes);

  void add(const void* rows, std::int64_t count);

  /// Creates the digests' dataset for `rows` rows, before the digests are known.
  void create(hdf5::File& file, const std::string& dataset, std::int64_t rows) const;
  /// Writes the digests after the last row.
  void write(hdf5::File& file, const std::string& dataset);

 private:
  std::int64_t block_rows_;
  std::int64_t row_bytes_;
  std::int64_t filled_ = 0;  // bytes of the incomplete block
  std::uint32_t crc_ = 0;    // of those bytes
  std::vector<std::uint32_t> digests_;
};

/// Writes the digest of a text, as one block of one row.
void write_text_digest(hdf5::File& file, const std::string& dataset, const std::string& text);
/// Throws Error (bad_input) if the file has digests and the digest of this text differs.
void require_text_digest(const hdf5::File& file, const std::string& dataset, const std::string& text);

/// Throws Error (bad_input): `what` of a file, "/inputs rows 0 to 82 (counted from 0)", has changed since it
/// was written.
[[noreturn]] void fail_changed(const std::string& file, const std::string& what);

}  // namespace mylos
