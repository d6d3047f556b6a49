#include "mylos/checkpoint/write/piece_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <span>
#include <thread>

#include "mylos/base/device/region.hpp"
#include "mylos/base/device/seconds_since.hpp"
#include "mylos/base/errors/error_table.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/checkpoint/file/laid_out_file.hpp"
#include "mylos/checkpoint/write/background_task.hpp"
#include "mylos/checkpoint/write/completion.hpp"
#include "mylos/checkpoint/write/folder.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/io/files/atomic_publish.hpp"

namespace mylos {
namespace {

using Clock = std::chrono::steady_clock;

/// Returns the state with only the pieces that this rank writes: its sharded pieces, and on rank 0 also the
/// arrays that all ranks hold.
CheckpointState own_part(CheckpointState state, int rank) {
  for (StateArray& array : state.arrays) {
    if (rank != 0 && !array.sharded) array.pieces.clear();
  }
  return state;
}

std::size_t pieces_of(const CheckpointState& state) {
  std::size_t count = 0;
  for (const StateArray& array : state.arrays) count += array.pieces.size();
  return count;
}

/// The name of an error as ranks send it; empty if there was none.
struct SentId {
  char name[32] = {};

  SentId() = default;
  explicit SentId(const std::optional<Error>& failed) {
    if (failed) name_of(failed->id()).copy(name, sizeof name - 1);
  }
  [[nodiscard]] bool has_failed() const { return name[0] != 0; }
  [[nodiscard]] ErrorId id() const { return error_named(name).value_or(errors::internal); }
};

/// A rank's report on its write, sent before its pieces' checksums.
struct Report {
  std::int64_t pieces = 0;
  SentId error;
  char cause[500] = {};
};

}  // namespace

struct PieceWriter::Write {
  enum class Stage { creating_file, sending_layout, writing, sending_reports, finishing };

  std::string folder;
  CheckpointHeader header;
  CheckpointState state;  // with this rank's pieces
  CheckpointOptions options;
  Clock::time_point begun;
  std::size_t max_pieces = 0;  // of a rank
  Stage stage = Stage::creating_file;
  std::vector<std::int64_t> array_offsets;  // in the file
  std::vector<PieceCrc> written;            // by this rank, finally by all ranks
  std::optional<Error> failed;              // on some rank
  std::unique_ptr<LaidOutFile> file;        // on rank 0
  BackgroundTask task;                      // last member: it uses the others

  [[nodiscard]] std::string path() const { return checkpoint_path(folder, header.step); }
  [[nodiscard]] std::string temporary() const { return temporary_path(path()); }

  bool task_complete() {
    if (!task.started()) return true;
    if (!task.ended()) return false;
    failed = task.join();
    return true;
  }

  void create_file() {
    complete(header, state, WritingGroup(nullptr));
    file = std::make_unique<LaidOutFile>(path(), header, state);
    array_offsets = file->array_offsets();
  }
  void write() { written = write_pieces(temporary(), array_offsets, state); }
  void finish() {
    file->finish(state, std::move(written));
    name_latest(folder);
    name_best(folder, header.best_step);
    delete_old_checkpoints(folder, options);
  }

  /// Returns the error if the file was not created, then the offsets of its arrays.
  [[nodiscard]] std::vector<std::byte> layout() const {
    const SentId error(failed);
    std::vector<std::byte> bytes(sizeof error + state.arrays.size() * sizeof(std::int64_t));
    std::memcpy(bytes.data(), &error, sizeof error);
    if (!failed) std::ranges::copy(std::as_bytes(std::span(array_offsets)), bytes.begin() + sizeof error);
    return bytes;
  }
  void receive_layout(const std::vector<std::byte>& bytes) {
    SentId error;
    std::memcpy(&error, bytes.data(), sizeof error);
    if (error.has_failed() && !failed)
      failed = Error(ExitCode::failed, error.id(), "rank 0 could not make the file");
    array_offsets.resize((bytes.size() - sizeof error) / sizeof(std::int64_t));
    if (!array_offsets.empty())
      std::memcpy(array_offsets.data(), bytes.data() + sizeof error, bytes.size() - sizeof error);
  }

  /// Returns this rank's report, which has the same length on all ranks.
  [[nodiscard]] std::vector<std::byte> report() const {
    Report own;
    own.pieces = static_cast<std::int64_t>(written.size());
    own.error = SentId(failed);
    if (failed) failed->message().copy(own.cause, sizeof own.cause - 1);
    std::vector<std::byte> bytes(sizeof own + max_pieces * sizeof(PieceCrc));
    std::memcpy(bytes.data(), &own, sizeof own);
    if (!written.empty())
      std::memcpy(bytes.data() + sizeof own, written.data(), written.size() * sizeof(PieceCrc));
    return bytes;
  }
  void receive_reports(const std::vector<std::byte>& reports) {
    const std::size_t length = sizeof(Report) + max_pieces * sizeof(PieceCrc);
    written.clear();
    for (std::size_t begin = 0; begin < reports.size(); begin += length) {
      Report one;
      std::memcpy(&one, reports.data() + begin, sizeof one);
      if (one.error.has_failed() && !failed)
        failed =
            Error(ExitCode::failed, one.error.id(), fmt::format("rank {}: {}", begin / length, one.cause));
      const std::size_t before = written.size();
      written.resize(before + static_cast<std::size_t>(one.pieces));
      std::memcpy(written.data() + before, reports.data() + begin + sizeof one,
                  static_cast<std::size_t>(one.pieces) * sizeof(PieceCrc));
    }
  }
};

PieceWriter::PieceWriter(RankGroup& ranks, const CheckpointState& state)
    : ranks_(ranks), exchange_(ranks), copy_(own_part(state, ranks.rank())) {}

PieceWriter::~PieceWriter() = default;

void PieceWriter::begin(const std::string& folder, const CheckpointHeader& header,
                        const CheckpointState& state, const CheckpointOptions& options) {
  const Region region("checkpoint");
  if (write_) fail_run(errors::internal, "a checkpoint is still being written");
  write_ = std::make_unique<Write>();
  Write& now = *write_;
  now.folder = folder;
  now.header = header;
  now.options = options;
  now.begun = Clock::now();
  now.state = copy_.of(own_part(state, ranks_.rank()));
  const std::size_t own = pieces_of(now.state);
  std::vector<std::size_t> pieces(static_cast<std::size_t>(ranks_.size()));
  ranks_.all_gather(&own, pieces.data(), sizeof own);
  now.max_pieces = *std::max_element(pieces.begin(), pieces.end());
  if (ranks_.rank() == 0) now.task.start([&now] { now.create_file(); });
}

bool PieceWriter::is_poll_due() const {
  return write_ && (!write_->task.started() || write_->task.ended());
}

/// Passes through completed stages, up to the first that is not complete.
std::optional<CheckpointOutcome> PieceWriter::poll() {
  if (!write_) return std::nullopt;
  Write& now = *write_;
  switch (now.stage) {
    case Write::Stage::creating_file:
      if (!now.task_complete()) return std::nullopt;
      exchange_.broadcast(now.layout());
      now.stage = Write::Stage::sending_layout;
      [[fallthrough]];
    case Write::Stage::sending_layout:
      if (!exchange_.ended()) return std::nullopt;
      now.receive_layout(exchange_.take());
      if (now.failed) return end();
      now.task.start([&now] { now.write(); });
      now.stage = Write::Stage::writing;
      [[fallthrough]];
    case Write::Stage::writing:
      if (!now.task_complete()) return std::nullopt;
      exchange_.gather(now.report());
      now.stage = Write::Stage::sending_reports;
      [[fallthrough]];
    case Write::Stage::sending_reports:
      if (!exchange_.ended()) return std::nullopt;
      if (const auto reports = exchange_.take(); ranks_.rank() == 0) now.receive_reports(reports);
      if (now.failed || ranks_.rank() != 0) return end();
      now.task.start([&now] { now.finish(); });
      now.stage = Write::Stage::finishing;
      [[fallthrough]];
    case Write::Stage::finishing:
      if (!now.task_complete()) return std::nullopt;
      return end();
  }
  return std::nullopt;
}

/// Returns whether the write of any rank is in a stage before the last, in which only rank 0 works.
bool PieceWriter::is_any_busy() {
  const std::uint8_t own = write_ && write_->stage != Write::Stage::finishing ? 1 : 0;
  std::vector<std::uint8_t> all(static_cast<std::size_t>(ranks_.size()));
  ranks_.all_gather(&own, all.data(), sizeof own);
  return std::any_of(all.begin(), all.end(), [](std::uint8_t busy) { return busy != 0; });
}

std::optional<CheckpointOutcome> PieceWriter::wait() {
  std::optional<CheckpointOutcome> outcome;
  // All ranks wait together. If a rank has left its run, the others detect it at their deadline.
  while (is_any_busy()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (auto ended = poll()) outcome = std::move(ended);
  }
  run_on_first(ranks_, [this] {
    if (write_) write_->failed = write_->task.join();
  });
  return write_ ? end() : outcome;
}

std::optional<CheckpointOutcome> PieceWriter::end() {
  const std::unique_ptr<Write> ended = std::move(write_);
  if (ranks_.rank() != 0) return std::nullopt;
  CheckpointOutcome outcome;
  outcome.step = ended->header.step;
  outcome.error = ended->failed;
  outcome.seconds = seconds_since(ended->begun);
  if (!outcome.error) outcome.path = ended->path();
  return outcome;
}

}  // namespace mylos
