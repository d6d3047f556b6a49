#include "mylos/checkpoint/writer.hpp"

#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>

#include "completion.hpp"
#include "file_contents.hpp"
#include "file_structure.hpp"
#include "laid_out_file.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/region.hpp"
#include "mylos/checkpoint/folder.hpp"
#include "mylos/io/atomic_publish.hpp"
#include "mylos/io/raw_file.hpp"
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

void write_file(const WritingGroup& ranks, const std::string& path, const CheckpointHeader& header,
                const CheckpointState& state) {
  if (ranks.size() == 1) {
    LaidOutFile file(path, header, state);
    file.finish(state, write_pieces(file.temporary(), file.array_offsets(), state));
    return;
  }
  const std::string temporary = temporary_path(path);
  std::optional<PendingFile> pending;  // on rank 0: a failure below leaves nothing behind
  ranks.on_first([&] {
    require_writable(state);
    pending.emplace(path);
    if (!std::ofstream(temporary)) fail_run("{}: cannot be created: {}", temporary, std::strerror(errno));
    reserve_space(temporary, generous_bytes(state));
  });
  write_contents(ranks, temporary, header, state);
  ranks.on_first([&] { pending->publish(); });
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

}  // namespace mylos
