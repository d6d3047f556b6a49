#include "mylos/checkpoint/file/laid_out_file.hpp"

#include <utility>

#include "mylos/checkpoint/file/array_crcs.hpp"
#include "mylos/checkpoint/file/own_file.hpp"
#include "mylos/checkpoint/file/stored_bytes.hpp"
#include "mylos/checkpoint/file/stored_datasets.hpp"
#include "mylos/checkpoint/file/user_block.hpp"
#include "mylos/io/files/raw_file.hpp"

namespace mylos {
namespace {

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

/// Checks the file through HDF5: HDF5's structure has its own checksums, which the digest does not check.
void verify_through_hdf5(const std::string& path, const std::vector<StoredDataset>& stored) {
  const hdf5::File file = hdf5::File::open(path);
  for (const StoredDataset& dataset : stored) require_crc(file, dataset.path, dataset.crc);
}

}  // namespace

LaidOutFile::LaidOutFile(const std::string& path, const CheckpointHeader& header,
                         const CheckpointState& state)
    : pending_(path), kind_(header.kind) {
  require_writable(state);
  on_own_file([&] { open_ = begin_file(temporary(), header, state); });
}

void LaidOutFile::finish(const CheckpointState& state, std::vector<PieceCrc> pieces) {
  on_own_file([&] {
    const std::vector<std::uint32_t> crcs = joined_crcs(state, std::move(pieces));
    write_crcs(*open_, state, crcs);
    const std::vector<StoredDataset> stored = stored_datasets(*open_, state, crcs);
    end_file(*open_);
    pending_.file().sync();
    write_user_block(temporary(), verify_stored(temporary(), stored), kind_);
    verify_through_hdf5(temporary(), stored);
    pending_.publish();
  });
}

std::vector<PieceCrc> write_pieces(const std::string& path, const std::vector<std::int64_t>& array_offsets,
                                   const CheckpointState& state) {
  RawFile file(path, RawFile::Access::write, RawFile::Cache::bypass);
  std::vector<PieceCrc> crcs;
  for (std::size_t i = 0; i < state.arrays.size(); ++i) {
    for (const StatePiece& piece : state.arrays[i].pieces) {
      const std::uint32_t crc = write_bytes(file, array_offsets[i], state.arrays[i], piece);
      crcs.push_back({static_cast<std::uint32_t>(i), crc, piece.first, piece.count});
    }
  }
  file.finish();
  return crcs;
}

}  // namespace mylos
