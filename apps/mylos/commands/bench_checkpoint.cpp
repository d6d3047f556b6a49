// mylos bench checkpoint: measures the time to write a state between two steps, and to read it again.
#include <fcntl.h>
#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "commands.hpp"
#include "commands/bench_measurement.hpp"
#include "commands/replaced_file.hpp"
#include "launch/runtime.hpp"
#include "launch/standard_output.hpp"
#include "launch/start.hpp"
#include "launch/stop_signals.hpp"
#include "mylos/base/device/arena.hpp"
#include "mylos/base/device/timing.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/base/version.hpp"
#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/checkpoint/write/writer.hpp"
#include "mylos/comm/options.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/comm/ranks/slices.hpp"
#include "mylos/kernels/launch/launch.hpp"
#include "tables/bench_report.hpp"

namespace mylos::app {
namespace {

namespace fs = std::filesystem;

// The bytes of an array: 64 MiB, a large layer's weights.
constexpr std::int64_t max_elements = std::int64_t{16} << 20;
// The bytes of a file in addition to its arrays.
constexpr std::int64_t file_overhead = std::int64_t{16} << 20;

/// A temporary folder in the user's folder, removed with this object. All ranks construct one.
class OwnFolder {
 public:
  OwnFolder(RankGroup& ranks, const std::string& parent, std::int64_t bytes) : is_ours_(ranks.rank() == 0) {
    run_on_all(ranks, [&] {
      if (!is_ours_) return;
      std::error_code failure;
      if (!fs::is_directory(parent, failure))
        fail_input(errors::no_such_folder, "{}: there is no such folder{}", printable(parent),
                   current_folder_note(parent));
      const fs::space_info space = fs::space(parent, failure);
      const std::int64_t needed = bytes + file_overhead;
      if (!failure && space.available < static_cast<std::uintmax_t>(needed)) {
        throw Error(
            ExitCode::does_not_fit, errors::cannot_write,
            fmt::format("{}: a checkpoint of {} takes {} of its disk, and {} are free; give a smaller "
                        "--size, or another folder",
                        parent, format_bytes(bytes), format_bytes(needed),
                        format_bytes(static_cast<std::int64_t>(space.available))));
      }
      path_ = (fs::path(parent) / fmt::format("mylos-bench-{}", getpid())).string();
      fs::create_directory(path_, failure);
      if (failure) fail_run(errors::cannot_write, "{}: cannot be made: {}", path_, failure.message());
    });
    path_ = broadcast_text(ranks, path_);
  }
  ~OwnFolder() {
    std::error_code failure;
    if (is_ours_) fs::remove_all(path_, failure);
  }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  bool is_ours_;
  std::string path_;
};

/// The elements of an array of `count` on this rank.
SliceRange share_of(std::int64_t count, const RankGroup& ranks, bool sharded) {
  const auto elements = static_cast<std::size_t>(count);
  return sharded ? slice_of(elements, ranks.size(), ranks.rank()) : SliceRange{0, elements};
}

/// Arrays of floats with `bytes` in total, and their memory.
struct LargeState {
  Arena arena;
  CheckpointState state;
};

std::vector<std::int64_t> array_lengths(std::int64_t bytes) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t left = (bytes + 3) / 4; left > 0; left -= lengths.back())
    lengths.push_back(std::min(left, max_elements));
  return lengths;
}

std::int64_t local_bytes(const std::vector<std::int64_t>& lengths, const RankGroup& ranks, bool sharded) {
  std::size_t sum = 0;
  for (const std::int64_t length : lengths)
    sum += aligned_bytes(share_of(length, ranks, sharded).size() * sizeof(float));
  return static_cast<std::int64_t>(sum);
}

/// Fills with noise that depends on the index in the complete array, so that a compressing file system saves
/// nothing. A separate function, because nvcc allows no device lambda in a private one.
void draw_noise(const Execution& exec, float* values, std::int64_t first, std::int64_t count) {
  for_each_element(
      exec, "draw a state", count, KOKKOS_LAMBDA(const std::int64_t i) {
        auto bits = static_cast<std::uint32_t>(first + i) * 2654435761U;
        bits ^= bits >> 15;
        values[i] = static_cast<float>(bits * 2246822519U) * 0x1p-32F - 0.5F;
      });
}

LargeState make_state(const std::vector<std::int64_t>& lengths, const RankGroup& ranks, bool sharded) {
  LargeState large;
  large.arena = Arena("state", static_cast<std::size_t>(local_bytes(lengths, ranks, sharded)));
  const Execution exec;
  std::size_t offset = 0;
  for (const std::int64_t length : lengths) {
    const SliceRange share = share_of(length, ranks, sharded);
    StateArray array{.path = fmt::format("/model/layer{}/weight", large.state.arrays.size()),
                     .dims = {length},
                     .pieces = {},
                     .on_device = true,
                     .sharded = sharded};
    if (share.size() > 0) {
      auto* values = reinterpret_cast<float*>(large.arena.data() + offset);
      const auto first = static_cast<std::int64_t>(share.begin);
      const auto count = static_cast<std::int64_t>(share.size());
      draw_noise(exec, values, first, count);
      array.pieces.push_back({first, count, values});
    }
    offset += aligned_bytes(share.size() * sizeof(float));
    large.state.arrays.push_back(std::move(array));
  }
  exec.fence("state drawn");
  return large;
}

/// Asks the system to drop the file from its cache, so that it is read from the disk.
void forget_cached(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  close(file);
}

/// Throws on all ranks if one of them was asked to end; the folder is removed.
void throw_if_stopped(RankGroup& ranks, const StopSignals& signals) {
  run_on_all(ranks, [&] {
    const std::string signal = signals.arrived();
    if (!signal.empty()) fail_run(errors::stopped, "stopped by {}, between two measurements", signal);
  });
}

struct Operation {
  const char* name;
  std::vector<double> seconds = {};  // of the slowest rank, a value per round
};

/// "3.5 s", "12.1 ms".
std::string format_seconds(double seconds) {
  return seconds < 1 ? fmt::format("{:.1f} ms", 1e3 * seconds) : fmt::format("{:.2f} s", seconds);
}

std::string operation_line(const Operation& operation, std::int64_t bytes) {
  const auto [smallest, largest] = std::minmax_element(operation.seconds.begin(), operation.seconds.end());
  const double seconds = median(operation.seconds);
  return fmt::format("  {:<8}{:>12}{:>12}{:>12}{:>10.3f}", operation.name, format_seconds(seconds),
                     format_seconds(*smallest), format_seconds(*largest),
                     1e-9 * static_cast<double>(bytes) / seconds);
}

}  // namespace

ExitCode bench_checkpoint_command(const BenchCheckpointArguments& arguments) {
  const StopSignals signals;
  RankGroup& ranks = ranks_of_start();
  const KokkosRuntime kokkos(0);
  const std::vector<std::int64_t> lengths = array_lengths(parse_bytes(arguments.size).value_or(0));
  const std::int64_t bytes_of_rank = local_bytes(lengths, ranks, arguments.sharded);
  require_room(ranks, bytes_of_rank + static_cast<std::int64_t>(checkpoint_buffer_bytes()),
               fmt::format("a state of {}{}", arguments.size,
                           arguments.sharded || ranks.size() == 1 ? "" : ", which every rank holds whole,"));
  std::int64_t bytes = 0;
  for (const std::int64_t length : lengths) bytes += length * static_cast<std::int64_t>(sizeof(float));
  const OwnFolder folder(ranks, arguments.folder, bytes);
  require_replaceable(arguments.csv, OutputKind::other);
  BenchFile file(ranks, arguments.csv,
                 {"benchmark", "mylos", "ranks", "ranks_on_node", "held", "operation", "bytes", "seconds",
                  "smallest_s", "largest_s"});
  LargeState large = make_state(lengths, ranks, arguments.sharded);
  const Output output = standard_output(ranks.rank());
  for (const std::string& line : kokkos.advice()) output.line(line);

  const auto timed = [&](Operation& operation, const std::function<void()>& work) {
    throw_if_stopped(ranks, signals);
    ranks.barrier();
    operation.seconds.push_back(largest_of(ranks, 1e-3 * milliseconds(work)));
  };
  Operation writing{"write"};
  Operation reading{"read"};
  Operation removing{"remove"};
  for (int round = 0; round < arguments.rounds; ++round) {
    CheckpointHeader header;
    header.step = round;
    header.code_version = code_version();
    header.deck = "bench";
    std::string path;
    timed(writing,
          [&] { path = write_checkpoint(ranks, folder.path(), header, large.state, {.keep_last = 0}); });
    forget_cached(path);
    timed(reading, [&] { CheckpointReader(ranks, path).read(large.state); });
    timed(removing, [&] {
      run_on_all(ranks, [&] {
        if (ranks.rank() == 0) fs::remove(path);
      });
    });
  }

  const char* distribution = arguments.sharded ? "each holds a slice" : "each holds all";
  output.line(
      fmt::format("a state of {} in {} arrays of floats; {} rank{}, {}; median of {} rounds\n\n"
                  "  {:<8}{:>12}{:>12}{:>12}{:>10}",
                  format_bytes(bytes), lengths.size(), ranks.size(), ranks.size() == 1 ? "" : "s",
                  ranks.size() == 1 ? "which holds all" : distribution, arguments.rounds, "", "time",
                  "smallest", "largest", "GB/s"));
  const int on_node = ranks.ranks_on_node();
  for (const Operation& operation : {writing, reading, removing}) {
    output.line(operation_line(operation, bytes));
    const auto [smallest, largest] = std::minmax_element(operation.seconds.begin(), operation.seconds.end());
    file.add({"checkpoint", code_version(), std::to_string(ranks.size()), std::to_string(on_node),
              arguments.sharded ? "slice" : "all", operation.name, std::to_string(bytes),
              fmt::format("{:.6f}", median(operation.seconds)), fmt::format("{:.6f}", *smallest),
              fmt::format("{:.6f}", *largest)});
  }
  file.publish();
  return ExitCode::done;
}

}  // namespace mylos::app
