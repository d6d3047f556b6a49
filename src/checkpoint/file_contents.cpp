#include "file_contents.hpp"

#include <algorithm>

#include "array_crcs.hpp"
#include "file_structure.hpp"
#include "mylos/base/error.hpp"
#include "mylos/comm/slices.hpp"
#include "mylos/io/atomic_publish.hpp"
#include "mylos/io/digest.hpp"
#include "mylos/io/piece_digest.hpp"
#include "mylos/io/raw_file.hpp"
#include "own_file.hpp"
#include "stored_bytes.hpp"
#include "user_block.hpp"

namespace mylos {
namespace {

/// What this rank writes: its slice of what all hold, or what it alone holds.
std::vector<StatePiece> share(const StateArray& array, const WritingGroup& ranks) {
  if (array.sharded) return array.pieces;
  const SliceRange slice = slice_of(static_cast<std::size_t>(array.size()), ranks.size(), ranks.rank());
  std::vector<StatePiece> own;
  for (const StatePiece& piece : array.pieces) {
    const std::int64_t from = std::max(piece.first, static_cast<std::int64_t>(slice.begin));
    const std::int64_t to = std::min(piece.first + piece.count, static_cast<std::int64_t>(slice.end));
    if (from >= to) continue;
    own.push_back(
        {from, to - from, static_cast<std::byte*>(piece.data) + array.memory_bytes_of(from - piece.first)});
  }
  return own;
}

/// This rank's share of every array.
std::vector<PieceCrc> write_share(const OpenFile& open, const CheckpointState& state,
                                  const WritingGroup& ranks) {
  std::vector<PieceCrc> crcs;
  for (std::size_t i = 0; i < state.arrays.size(); ++i) {
    const StateArray& array = state.arrays[i];
    hdf5::Dataset dataset = open.file.dataset(array.path);  // all ranks: HDF5 reads its structure together
    for (const StatePiece& piece : share(array, ranks)) {
      const std::uint32_t crc = write_elements(dataset, array, piece);
      crcs.push_back({static_cast<std::uint32_t>(i), crc, piece.first, piece.count});
    }
  }
  return crcs;
}

/// That the bytes on the disk are those that were in memory; no fault of the user's if not.
void require_as_written(const std::string& path, const std::string& dataset, std::uint32_t found,
                        std::uint32_t written) {
  if (found == written) return;
  fail_run("{}: {} came back from the disk with the CRC-32 {:08x}, {:08x} was written", path, dataset, found,
           written);
}

void require_as_written(const hdf5::File& file, const std::string& dataset) {
  require_as_written(file.path(), dataset, crc_of(file.dataset(dataset)),
                     static_cast<std::uint32_t>(file.integer_attribute(dataset, crc_attribute)));
}

/// What lies on the disk is what was in memory: each rank reads some of the datasets again.
void verify_share(const std::string& path, const CheckpointState& state, const WritingGroup& ranks) {
  const hdf5::File file = hdf5::File::open(path);
  const auto step = static_cast<std::size_t>(ranks.size());
  for (std::size_t i = static_cast<std::size_t>(ranks.rank()); i < state.arrays.size(); i += step) {
    require_as_written(file, state.arrays[i].path);
  }
  for (std::size_t i = static_cast<std::size_t>(ranks.rank()); i < state.texts.size(); i += step) {
    require_as_written(file, state.texts[i].path);
  }
}

}  // namespace

std::string verify_stored(const std::string& path, const std::vector<StoredDataset>& stored) {
  std::vector<ByteRange> ranges;
  for (const StoredDataset& dataset : stored) ranges.push_back(dataset.range);
  PieceDigest contents(user_block_bytes, ranges);
  RawFile(path, RawFile::Access::read, RawFile::Cache::bypass)
      .read(user_block_bytes,
            [&](const std::byte* data, std::int64_t bytes) { contents.update(data, bytes); });
  for (std::size_t i = 0; i < stored.size(); ++i) {
    require_as_written(path, stored[i].path, contents.range_crcs()[i], stored[i].crc);
  }
  return contents.finish();
}

void write_contents(const WritingGroup& ranks, const std::string& path, const CheckpointHeader& header,
                    const CheckpointState& state) {
  on_own_file([&] {
    OpenFile open = begin_file(ranks, path, header, state);
    std::vector<PieceCrc> own;
    ranks.on_all([&] { own = write_share(open, state, ranks); });
    write_crcs(open, state, joined_crcs(state, ranks.gather(std::move(own))));
    end_file(open);
    ranks.on_first([&] {
      write_user_block(path, contents_digest(path));
      sync_file(path);
    });
    ranks.on_all([&] { verify_share(path, state, ranks); });
  });
}

}  // namespace mylos
