// Chunks that are compressed with gzip, read and decoded here rather than by HDF5, which takes whatever a
// chunk inflates to for the chunk: of one that inflates to too little, it reads the memory behind it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "mylos/io/hdf5/hdf5_library.hpp"

namespace mylos::hdf5 {

class ChunkReader {
 public:
  /// Returns a reader of the open dataset; nothing if it is not in chunks, or has other filters than gzip,
  /// shuffle and fletcher32, or none. `file` must outlive it.
  [[nodiscard]] static std::unique_ptr<ChunkReader> of(hid_t dataset, const std::string& file,
                                                       const std::string& path);

  /// Reads the elements start[d] + i * step[d], i < count[d], row-major, as they are stored. Throws Error
  /// (bad_input) if a chunk cannot be read, or does not have the bytes that its extents need. Without `step`:
  /// 1. The lock of the library is released between chunks.
  void read(std::span<const hsize_t> start, std::span<const hsize_t> step, std::span<const hsize_t> count,
            std::byte* destination);

 private:
  static constexpr std::size_t max_rank = 8;  // of what is read: others are refused before
  using Index = std::array<hsize_t, max_rank>;

  /// Where a dimension of a box meets a chunk.
  struct Overlap {
    hsize_t begin, end;    // indices of the box
    hsize_t first;         // element of the chunk that `begin` is
    hsize_t step;          // elements of the chunk between two indices of the box
    std::size_t from, to;  // bytes between neighbours in the chunk (0: a fill value) and in the box
  };

  ChunkReader(hid_t dataset, const std::string& file, const std::string& path);
  /// Returns the decoded chunk; null if it was never written.
  const std::byte* load(const Index& chunk);
  void decode(std::uint32_t skipped_filters);
  void copy(std::span<const Overlap> overlaps, const std::byte* from, std::byte* to) const;
  [[noreturn]] void fail_chunk(std::string_view problem) const;

  hid_t dataset_;
  const std::string& file_;
  const std::string path_;
  std::size_t rank_ = 0;
  Index extent_{};  // of a chunk
  std::size_t element_bytes_ = 0;
  std::size_t chunk_bytes_ = 0;
  std::vector<StoredFilter> filters_;
  std::vector<std::byte> fill_;  // the element that stands for those never written

  std::mutex reading_;
  std::optional<Index> loaded_;   // the chunk that `bytes_` holds
  bool is_stored_ = false;        // whether that chunk was ever written
  std::vector<std::byte> bytes_;  // the chunk, decoded, or on the way there
  std::vector<std::byte> other_;  // the result of a filter
};

}  // namespace mylos::hdf5
