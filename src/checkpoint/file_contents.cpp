#include "file_contents.hpp"

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

SliceRange share(const StateArray& array, const WritingGroup& ranks, int rank) {
  return slice_of(static_cast<std::size_t>(array.size()), ranks.size(), rank);
}

/// This rank's share of every array; returns the CRC-32 of each share.
std::vector<std::uint32_t> write_share(const OpenFile& open, const CheckpointState& state,
                                       const WritingGroup& ranks) {
  std::vector<std::uint32_t> crcs;
  for (const StateArray& array : state.arrays) {
    hdf5::Dataset dataset = open.file.dataset(array.path);
    const SliceRange range = share(array, ranks, ranks.rank());
    crcs.push_back(write_elements(dataset, array, static_cast<std::int64_t>(range.begin),
                                  static_cast<std::int64_t>(range.size())));
  }
  return crcs;
}

/// The same for a process that writes alone, past HDF5 and the page cache.
std::vector<std::uint32_t> write_alone(const std::string& path, const OpenFile& open,
                                       const CheckpointState& state) {
  RawFile file(path, RawFile::Access::write, RawFile::Cache::bypass);
  std::vector<std::uint32_t> crcs;
  for (std::size_t i = 0; i < state.arrays.size(); ++i) {
    const bool empty = state.arrays[i].size() == 0;  // then it has no place
    crcs.push_back(empty ? 0 : write_bytes(file, open.array_offsets[i], state.arrays[i]));
  }
  return crcs;
}

/// Joins the shares' CRCs in file order and stores them with their arrays.
void write_crcs(OpenFile& open, const CheckpointState& state, const WritingGroup& ranks,
                const std::vector<std::uint32_t>& own) {
  const std::vector<std::uint32_t> all = ranks.gather(own);
  for (std::size_t i = 0; i < state.arrays.size(); ++i) {
    const StateArray& array = state.arrays[i];
    std::uint32_t crc = 0;
    for (int rank = 0; rank < ranks.size(); ++rank) {
      const auto bytes =
          static_cast<std::int64_t>(share(array, ranks, rank).size()) * element_bytes(array.type);
      if (bytes > 0) crc = crc32_joined(crc, all[static_cast<std::size_t>(rank) * own.size() + i], bytes);
    }
    open.file.write_attribute(array.path, crc_attribute, static_cast<std::int64_t>(crc));
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
  std::vector<std::uint32_t> crcs;
  if (ranks.size() == 1) {
    crcs = write_alone(path, open, state);
    write_crcs(open, state, ranks, crcs);
    const std::vector<StoredDataset> stored = stored_datasets(open, state, crcs);
    end_file(open);
    write_user_block(path, verify_stored(path, stored));
    open_again(path, stored);
    return;
  }
  ranks.on_all([&] { crcs = write_share(open, state, ranks); });
  write_crcs(open, state, ranks, crcs);
  end_file(open);
  ranks.on_first([&] {
    write_user_block(path, contents_digest(path));
    sync_file(path);
  });
  ranks.on_all([&] { verify_share(path, state, ranks); });
}

}  // namespace mylos
