#include "file_contents.hpp"

#include <algorithm>
#include <optional>
#include <tuple>

#include "file_structure.hpp"
#include "mylos/base/error.hpp"
#include "mylos/comm/slices.hpp"
#include "mylos/io/atomic_publish.hpp"
#include "mylos/io/digest.hpp"
#include "mylos/io/piece_digest.hpp"
#include "mylos/io/raw_file.hpp"
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
        {from, to - from, static_cast<std::byte*>(piece.data) + array.bytes_of(from - piece.first)});
  }
  return own;
}

/// This rank's share of every array; a process that writes alone goes past HDF5 and the page cache.
std::vector<PieceCrc> write_share(const std::string& path, const OpenFile& open, const CheckpointState& state,
                                  const WritingGroup& ranks) {
  std::optional<RawFile> file;
  if (ranks.size() == 1) file.emplace(path, RawFile::Access::write, RawFile::Cache::bypass);
  std::vector<PieceCrc> crcs;
  for (std::size_t i = 0; i < state.arrays.size(); ++i) {
    const StateArray& array = state.arrays[i];
    std::optional<hdf5::Dataset> dataset;
    if (!file) dataset = open.file.dataset(array.path);  // all ranks: HDF5 reads its structure together
    for (const StatePiece& piece : share(array, ranks)) {
      const std::uint32_t crc = file ? write_bytes(*file, open.array_offsets[i], array, piece)
                                     : write_elements(*dataset, array, piece);
      crcs.push_back({static_cast<std::uint32_t>(i), crc, piece.first, piece.count});
    }
  }
  return crcs;
}

/// The CRC-32 of each array, of all ranks' pieces in file order.
std::vector<std::uint32_t> joined(const CheckpointState& state, std::vector<PieceCrc> pieces) {
  std::sort(pieces.begin(), pieces.end(), [](const PieceCrc& a, const PieceCrc& b) {
    return std::tie(a.array, a.first) < std::tie(b.array, b.first);
  });
  std::vector<std::uint32_t> crcs;
  auto piece = pieces.begin();
  for (std::size_t i = 0; i < state.arrays.size(); ++i) {
    const StateArray& array = state.arrays[i];
    std::uint32_t crc = 0;
    std::int64_t end = 0;
    for (; piece != pieces.end() && piece->array == i; ++piece) {
      if (piece->count == 0) continue;
      if (piece->first != end) break;
      crc = crc32_joined(crc, piece->crc, array.bytes_of(piece->count));
      end += piece->count;
    }
    const bool held_again = piece != pieces.end() && piece->array == i && piece->first < end;
    if (held_again || end != array.size()) {
      fail_run("{}: element {} of {} is held {}", array.path, held_again ? piece->first : end, array.size(),
               held_again ? "twice" : "by no rank");
    }
    crcs.push_back(crc);
  }
  return crcs;
}

/// Stored with their arrays.
void write_crcs(OpenFile& open, const CheckpointState& state, const std::vector<std::uint32_t>& crcs) {
  for (std::size_t i = 0; i < crcs.size(); ++i) {
    open.file.write_attribute(state.arrays[i].path, crc_attribute, static_cast<std::int64_t>(crcs[i]));
    flush_some(open.file, i + 1);
  }
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

std::vector<StoredDataset> stored_datasets(const OpenFile& open, const CheckpointState& state,
                                           const std::vector<std::uint32_t>& array_crcs) {
  std::vector<StoredDataset> stored;
  for (std::size_t i = 0; i < state.arrays.size(); ++i) {
    const StateArray& array = state.arrays[i];
    if (array.size() == 0) continue;
    const ByteRange range{open.array_offsets[i], array.bytes()};
    stored.push_back({array.path, range, array_crcs[i]});
  }
  for (std::size_t i = 0; i < state.texts.size(); ++i) {
    const StateText& text = state.texts[i];
    const ByteRange range{open.texts[i].file_offset(), bytes_in_file(text)};
    stored.push_back({text.path, range, crc_of_text(text.text)});
  }
  return stored;
}

/// HDF5 finds in the file what was put there: its own structure has checksums, of which the digest knows
/// nothing.
void open_again(const std::string& path, const std::vector<StoredDataset>& stored) {
  const hdf5::File file = hdf5::File::open(path);
  for (const StoredDataset& dataset : stored) require_crc(file, dataset.path, dataset.crc);
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
  OpenFile open = begin_file(ranks, path, header, state);
  std::vector<PieceCrc> own;
  ranks.on_all([&] { own = write_share(path, open, state, ranks); });
  const std::vector<std::uint32_t> crcs = joined(state, ranks.gather(std::move(own)));
  write_crcs(open, state, crcs);
  if (ranks.size() == 1) {
    const std::vector<StoredDataset> stored = stored_datasets(open, state, crcs);
    end_file(open);
    write_user_block(path, verify_stored(path, stored));
    open_again(path, stored);
    return;
  }
  end_file(open);
  ranks.on_first([&] {
    write_user_block(path, contents_digest(path));
    sync_file(path);
  });
  ranks.on_all([&] { verify_share(path, state, ranks); });
}

}  // namespace mylos
