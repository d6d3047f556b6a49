#include "mylos/checkpoint/writer.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>

#include "mylos/base/error.hpp"
#include "mylos/base/region.hpp"
#include "mylos/checkpoint/folder.hpp"
#include "mylos/comm/slices.hpp"
#include "mylos/io/atomic_publish.hpp"
#include "mylos/io/digest.hpp"
#include "stored_bytes.hpp"
#include "user_block.hpp"
#include "writing_group.hpp"

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

/// Every path once, and no text that would not be read back as it is.
void require_writable(const CheckpointState& state) {
  for (const StateText& text : state.texts) {
    if (text.text.ends_with('\0')) fail_run("{}: a text that ends in zeros cannot be stored", text.path);
  }
}

/// More than the file will take, so that creating its structure cannot meet a full disk either.
std::int64_t generous_bytes(const CheckpointState& state) {
  std::int64_t bytes = 256 << 10;
  for (const StateArray& array : state.arrays) bytes += array.size() * element_bytes(array.type) + 2048;
  for (const StateText& text : state.texts) bytes += static_cast<std::int64_t>(text.text.size()) + 2048;
  return bytes;
}

/// The file while it is written: its datasets, open on all ranks.
struct OpenFile {
  hdf5::File file;
  std::vector<hdf5::Dataset> arrays;
  std::vector<hdf5::Dataset> texts;
};

/// All structure is made, and every attribute has its place, before the disk space is reserved.
OpenFile create_structure(const WritingGroup& ranks, const std::string& path, const CheckpointHeader& header,
                          const CheckpointState& state) {
  hdf5::CreateOptions options;
  options.user_block = user_block_bytes;
  options.communicator = ranks.mpi();
  OpenFile open{hdf5::File::create(path, options), {}, {}};
  open.file.write_attribute("/", "format", checkpoint_format);
  open.file.write_attribute("/", "version", checkpoint_version);
  open.file.write_attribute("/", "step", header.step);
  open.file.write_attribute("/", "created", header.created);
  open.file.write_attribute("/", "code_version", header.code_version);
  open.file.write_attribute("/", "world_size", header.world_size);
  for (const StateArray& array : state.arrays) {
    open.arrays.push_back(open.file.create_dataset(array.path, array.type, array.dims));
    open.file.write_attribute(array.path, crc_attribute, std::int64_t{0});
  }
  for (const StateText& text : state.texts) {
    const auto bytes = std::max<std::int64_t>(1, static_cast<std::int64_t>(text.text.size()));
    open.texts.push_back(open.file.create_text(text.path, bytes));
    open.file.write_attribute(text.path, crc_attribute, static_cast<std::int64_t>(crc_of_text(text.text)));
  }
  open.file.flush();
  return open;
}

SliceRange share(const StateArray& array, const WritingGroup& ranks, int rank) {
  return slice_of(static_cast<std::size_t>(array.size()), ranks.size(), rank);
}

/// This rank's share of every array; returns the CRC-32 of each share.
std::vector<std::uint32_t> write_share(OpenFile& open, const CheckpointState& state,
                                       const WritingGroup& ranks) {
  std::vector<std::uint32_t> crcs;
  for (std::size_t i = 0; i < state.arrays.size(); ++i) {
    const SliceRange range = share(state.arrays[i], ranks, ranks.rank());
    crcs.push_back(write_elements(open.arrays[i], state.arrays[i], static_cast<std::int64_t>(range.begin),
                                  static_cast<std::int64_t>(range.size())));
  }
  if (ranks.rank() == 0) {
    for (std::size_t i = 0; i < state.texts.size(); ++i) open.texts[i].write_text(state.texts[i].text);
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
  }
}

/// What lies on the disk is what was in memory: each rank reads some of the datasets again.
void verify_share(const std::string& path, const CheckpointState& state, const WritingGroup& ranks) {
  const hdf5::File file = hdf5::File::open(path);
  const auto step = static_cast<std::size_t>(ranks.size());
  for (std::size_t i = static_cast<std::size_t>(ranks.rank()); i < state.arrays.size(); i += step) {
    require_crc(file, state.arrays[i].path, crc_of(file.dataset(state.arrays[i].path)));
  }
  for (std::size_t i = static_cast<std::size_t>(ranks.rank()); i < state.texts.size(); i += step) {
    require_crc(file, state.texts[i].path, crc_of(file.dataset(state.texts[i].path)));
  }
}

void write_file(const WritingGroup& ranks, const std::string& path, const CheckpointHeader& header,
                const CheckpointState& state) {
  const std::string temporary = temporary_path(path);
  std::optional<PendingFile> pending;  // on rank 0: a failure below leaves nothing behind
  ranks.on_first([&] {
    require_writable(state);
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (!folder.empty()) std::filesystem::create_directories(folder);
    pending.emplace(path);
    if (!std::ofstream(temporary)) fail_run("{}: cannot be created: {}", temporary, std::strerror(errno));
    reserve_space(temporary, generous_bytes(state));
  });
  {
    OpenFile open = create_structure(ranks, temporary, header, state);
    // A write that the disk refuses on one rank can hang the others: no rank writes before the space is
    // certain. A flush extends the file to all that was allocated in it (HDF5 itself cannot tell that size
    // over MPI).
    ranks.barrier();
    ranks.on_first(
        [&] { reserve_space(temporary, static_cast<std::int64_t>(std::filesystem::file_size(temporary))); });
    std::vector<std::uint32_t> crcs;
    ranks.on_all([&] { crcs = write_share(open, state, ranks); });
    write_crcs(open, state, ranks, crcs);
    open.file.flush();
    open.arrays.clear();
    open.texts.clear();
    open.file.close();
  }
  ranks.on_first([&] {
    write_user_block(temporary);
    sync_file(temporary);
  });
  ranks.on_all([&] { verify_share(temporary, state, ranks); });
  ranks.on_first([&] { pending->publish(); });
}

/// With what is known only now; the deck becomes a text of the file.
void complete(CheckpointHeader& header, CheckpointState& state, const WritingGroup& ranks) {
  header.created = ranks.agreed(utc_now());
  if (!ranks.alone()) header.world_size = ranks.size();
  state.add_text("/deck", header.deck);
}

std::string write_into_folder(const WritingGroup& ranks, const std::string& folder, CheckpointHeader header,
                              CheckpointState state, const CheckpointOptions& options) {
  complete(header, state, ranks);
  const std::string path = checkpoint_path(folder, header.step);
  write_file(ranks, path, header, state);
  ranks.on_first([&] {
    name_latest(folder);
    delete_old_checkpoints(folder, options);
  });
  return path;
}

}  // namespace

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
  return static_cast<std::size_t>(piece_bytes);
}

}  // namespace mylos
