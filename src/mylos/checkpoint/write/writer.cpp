#include "mylos/checkpoint/write/writer.hpp"

#include <algorithm>
#include <ctime>
#include <memory>

#include "mylos/base/device/region.hpp"
#include "mylos/checkpoint/file/laid_out_file.hpp"
#include "mylos/checkpoint/file/writing_group.hpp"
#include "mylos/checkpoint/write/completion.hpp"
#include "mylos/checkpoint/write/folder.hpp"
#include "mylos/comm/ranks/slices.hpp"
#include "mylos/io/files/atomic_publish.hpp"
#include "mylos/io/files/raw_file.hpp"

namespace mylos {
namespace {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32] = {};
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

/// Returns the pieces that this rank writes: its slices of replicated arrays, and its sharded pieces.
CheckpointState own_pieces(const CheckpointState& state, const WritingGroup& ranks) {
  CheckpointState own = state;
  for (StateArray& array : own.arrays) {
    if (array.sharded) continue;
    const SliceRange slice = slice_of(static_cast<std::size_t>(array.size()), ranks.size(), ranks.rank());
    std::vector<StatePiece> pieces;
    for (const StatePiece& piece : array.pieces) {
      const std::int64_t from = std::max(piece.first, static_cast<std::int64_t>(slice.begin));
      const std::int64_t to = std::min(piece.first + piece.count, static_cast<std::int64_t>(slice.end));
      if (from >= to) continue;
      auto* const data = static_cast<std::byte*>(piece.data) + array.memory_bytes_of(from - piece.first);
      pieces.push_back({from, to - from, data});
    }
    array.pieces = std::move(pieces);
  }
  return own;
}

/// Writes a file: the first rank creates its structure, all ranks write their parts, and the first rank
/// verifies it. Plain writes are used because in a collective write through HDF5, a failing disk on one rank
/// leaves the others waiting in MPI.
void write_file(const WritingGroup& ranks, const std::string& path, const CheckpointHeader& header,
                const CheckpointState& state) {
  std::unique_ptr<LaidOutFile> file;  // on the first rank: removed after a failure below
  std::vector<std::int64_t> array_offsets(state.arrays.size());
  ranks.on_first([&] {
    file = std::make_unique<LaidOutFile>(path, header, state);
    array_offsets = file->array_offsets();
  });
  ranks.agree(array_offsets);
  std::vector<PieceCrc> written;
  ranks.on_each(
      [&] { written = write_pieces(temporary_path(path), array_offsets, own_pieces(state, ranks)); });
  written = ranks.gather(std::move(written));
  ranks.on_first([&] { file->finish(state, std::move(written)); });
}

std::string write_into_folder(const WritingGroup& ranks, const std::string& folder, CheckpointHeader header,
                              CheckpointState state, const CheckpointOptions& options) {
  complete(header, state, ranks);
  const std::string path = checkpoint_path(folder, header.step);
  write_file(ranks, path, header, state);
  ranks.on_first([&] {
    name_latest(folder);
    name_best(folder, header.best_step);
    delete_old_checkpoints(folder, options);
  });
  return path;
}

}  // namespace

void complete(CheckpointHeader& header, CheckpointState& state, const WritingGroup& ranks) {
  header.created = ranks.agreed(utc_now());
  if (!ranks.alone()) header.world_size = ranks.size();
  state.add_text("/deck", header.deck);
}

void write_checkpoint_file(RankGroup& ranks, const std::string& path, const CheckpointHeader& header,
                           const CheckpointState& state) {
  const WritingGroup group(&ranks);
  CheckpointHeader whole_header = header;
  CheckpointState whole_state = state;
  complete(whole_header, whole_state, group);
  write_file(group, path, whole_header, whole_state);
}

std::string write_checkpoint(RankGroup& ranks, const std::string& folder, const CheckpointHeader& header,
                             const CheckpointState& state, const CheckpointOptions& options) {
  const Region region("checkpoint");
  return write_into_folder(WritingGroup(&ranks), folder, header, state, options);
}

std::string write_checkpoint_alone(const std::string& folder, const CheckpointHeader& header,
                                   const CheckpointState& state, const CheckpointOptions& options) {
  return write_into_folder(WritingGroup(nullptr), folder, header, state, options);
}

std::size_t checkpoint_buffer_bytes() {
  return static_cast<std::size_t>(RawFile::piece_bytes);
}

PartMemory checkpoint_memory() {
  return {{"checkpoint writing", checkpoint_buffer_bytes(), false}};
}

}  // namespace mylos
