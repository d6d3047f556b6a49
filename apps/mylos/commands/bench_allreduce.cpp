// mylos bench allreduce: how long the ranks take to sum gradients and to agree, beside MPI's own sum of
// floats.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>

#include "commands.hpp"
#include "commands/bench_measurement.hpp"
#include "commands/replaced_file.hpp"
#include "launch/blocking_call.hpp"
#include "launch/placement.hpp"
#include "launch/runtime.hpp"
#include "launch/standard_output.hpp"
#include "mylos/base/device/arena.hpp"
#include "mylos/base/device/seconds_since.hpp"
#include "mylos/base/device/timing.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/base/version.hpp"
#include "mylos/comm/group/agreement.hpp"
#include "mylos/comm/group/communicator.hpp"
#include "mylos/comm/ranks/slices.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/kernels/launch/launch.hpp"
#include "tables/bench_report.hpp"

namespace mylos::app {
namespace {

// A measurement repeats what is shorter than this.
constexpr double measured_s = 10e-3;
constexpr int max_repetitions = 200;
constexpr int repetitions_of_agreement = 100;
// A sum of small integers times 1 / ranks, rounded in each repetition.
constexpr float rounding = 0.02F;

/// Seconds of one sum; of a reduce-scatter and an all-gather the two parts.
struct SumTimes {
  double reduce_scatter = 0;
  double all_gather = 0;
  double whole = 0;
};

/// What takes turns: our sum in a type, or MPI's of floats.
struct SumRival {
  std::string name;
  bool ours = true;
  DType type = DType::fp32;
  int repetitions = 1;
  std::array<std::vector<double>, 3> seconds = {};  // of SumTimes, a value per round

  void forget_times() {
    for (auto& values : seconds) values.clear();
  }
};

class AllreduceBench {
 public:
  AllreduceBench(Communicator& communicator, std::size_t max_bytes)
      : communicator_(communicator),
        message_("messages", max_bytes),
        floats_(max_bytes / sizeof(float)),
        agreement_(communicator.rank(), communicator.size()) {
    communicator_.reserve(std::array{SlotBytes{max_bytes, max_bytes}});
  }

  /// Our sums leave the mean over ranks. Throws Error where it is none.
  void measure(SumRival& rival, std::size_t bytes, int repetitions, bool counts);
  [[nodiscard]] double agreement_seconds();

 private:
  [[nodiscard]] SumTimes sum_gradients(const CommunicationBuffer& buffer);
  [[nodiscard]] SumTimes sum_by_mpi(std::size_t bytes);
  void require_mean(const Tensor& message);

  Communicator& communicator_;
  Execution exec_;
  Arena message_;
  std::vector<float> floats_;
  AgreementBuffer agreement_;
};

SumTimes AllreduceBench::sum_gradients(const CommunicationBuffer& buffer) {
  const auto start = std::chrono::steady_clock::now();
  communicator_.reduce_scatter(exec_, buffer, 1 / static_cast<float>(communicator_.size()));
  communicator_.synchronize(exec_);
  const double scattered = seconds_since(start);
  communicator_.all_gather(exec_, buffer);
  communicator_.synchronize(exec_);
  const double whole = seconds_since(start);
  return {scattered, whole - scattered, whole};
}

SumTimes AllreduceBench::sum_by_mpi(std::size_t bytes) {
  const auto start = std::chrono::steady_clock::now();
  const auto count = static_cast<int>(bytes / sizeof(float));
  communicator_.ranks().check(
      MPI_Allreduce(MPI_IN_PLACE, floats_.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD),
      "MPI_Allreduce");
  return {0, 0, seconds_since(start)};
}

void AllreduceBench::measure(SumRival& rival, std::size_t bytes, int repetitions, bool counts) {
  const Tensor message =
      message_.tensor(0, rival.type, 1, static_cast<std::int64_t>(bytes / size_of(rival.type)));
  if (rival.ours) fill(exec_, message, static_cast<float>(communicator_.rank() + 1));
  SumTimes sum;
  communicator_.barrier(exec_);
  std::optional<BlockingCall> call;
  if (!rival.ours) call.emplace("MPI_Allreduce", communicator_.ranks().timeout_s());
  for (int i = 0; i < repetitions; ++i) {
    const SumTimes one =
        rival.ours ? sum_gradients({message.data(), static_cast<std::size_t>(message.size()), message.type()})
                   : sum_by_mpi(bytes);
    sum.reduce_scatter += one.reduce_scatter;
    sum.all_gather += one.all_gather;
    sum.whole += one.whole;
  }
  if (rival.ours) require_mean(message);
  std::array values{sum.reduce_scatter, sum.all_gather, sum.whole};
  for (double& value : values) value = largest_of(communicator_.ranks(), value / repetitions);
  if (counts) {
    for (std::size_t i = 0; i < values.size(); ++i) rival.seconds[i].push_back(values[i]);
  } else {
    rival.repetitions = std::clamp(static_cast<int>(measured_s / values[2]), 1, max_repetitions);
  }
}

/// The last element stands for all.
void AllreduceBench::require_mean(const Tensor& message) {
  const Kokkos::View<float, Device> value("last element");
  convert(exec_, message.elements(message.size() - 1, 1), Tensor(value.data(), DType::fp32, 1, 1));
  float mean = 0;
  const Kokkos::View<float, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> host(&mean);
  Kokkos::deep_copy(host, value);
  const float expected = 0.5F * static_cast<float>(communicator_.size() + 1);
  if (std::abs(mean - expected) <= rounding * expected) return;
  fail_run(errors::communication_failed, "a sum of {} over {} ranks is wrong: {} instead of {}",
           name_of(message.type()), communicator_.size(), mean * static_cast<float>(communicator_.size()),
           expected * static_cast<float>(communicator_.size()));
}

/// A function of its own: nvcc takes no device lambda inside a private one.
void state_scale(const Execution& exec, AgreementFlags* flags) {
  for_each_element(
      exec, "state the scale", 1, KOKKOS_LAMBDA(const std::int64_t) { flags->set_scale(1); });
}

double AllreduceBench::agreement_seconds() {
  state_scale(exec_, agreement_.own_flags());
  communicator_.barrier(exec_);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < repetitions_of_agreement; ++i) {
    communicator_.agree(exec_, agreement_);
    communicator_.synchronize(exec_);
  }
  return largest_of(communicator_.ranks(), seconds_since(start) / repetitions_of_agreement);
}

/// Rounded up to what falls into whole slices in every type, each size once.
std::vector<std::size_t> whole_slices(const std::vector<std::string>& sizes, int ranks) {
  const std::size_t unit = static_cast<std::size_t>(ranks) * slice_granularity * sizeof(float);
  std::set<std::size_t> whole;
  for (const std::string& size : sizes) {
    const auto bytes = static_cast<std::size_t>(parse_bytes(size).value_or(0));
    whole.insert((bytes + unit - 1) / unit * unit);
  }
  return {whole.begin(), whole.end()};
}

std::vector<SumRival> sum_rivals(const std::vector<std::string>& types) {
  std::vector<SumRival> rivals;
  for (const std::string& type : types) rivals.push_back({.name = type, .type = type_named(type)});
  rivals.push_back({.name = "MPI fp32", .ours = false});
  return rivals;
}

/// Two lines above the columns of the table.
std::string table_head(const std::vector<SumRival>& rivals) {
  std::string names = fmt::format("  {:>12}", "message");
  std::string units = fmt::format("  {:>12}", "");
  for (const SumRival& rival : rivals) {
    names += fmt::format("{:>20}", rival.name);
    units += fmt::format("{:>12}{:>8}", "us", "GB/s");
  }
  return names + '\n' + units;
}

std::string size_line(std::size_t bytes, const std::vector<SumRival>& rivals) {
  std::string line = fmt::format("  {:>12}", format_bytes(static_cast<std::int64_t>(bytes)));
  for (const SumRival& rival : rivals) {
    const double seconds = median(rival.seconds[2]);
    line += fmt::format("{:>12.1f}{:>8.2f}", 1e6 * seconds, 1e-9 * static_cast<double>(bytes) / seconds);
  }
  return line;
}

/// All ranks call this. Of all ranks that share this rank's cores.
double threads_per_core(RankGroup& ranks) {
  const CoreShare share = core_share(gather(ranks, placement_of_process(ranks, std::nullopt)), ranks.rank());
  const int threads = Kokkos::DefaultHostExecutionSpace().concurrency();
  return static_cast<double>(share.ranks * threads) / share.cores;
}

/// The columns of the CSV file, of which the first ones are the same in all lines.
class AllreduceFile {
 public:
  AllreduceFile(Communicator& communicator, const std::string& path)
      : file_(communicator.ranks(), path,
              {"benchmark", "mylos", "ranks", "ranks_on_node", "threads_per_core", "backend", "operation",
               "type", "bytes", "seconds", "smallest_s", "largest_s"}),
        facts_{"allreduce",
               code_version(),
               std::to_string(communicator.size()),
               std::to_string(communicator.ranks().ranks_on_node()),
               fmt::format("{:.3f}", threads_per_core(communicator.ranks())),
               communicator.runs_on_device() ? "nccl" : "mpi"} {}

  void add(const std::string& operation, const std::string& type, std::size_t bytes,
           const std::vector<double>& seconds) {
    std::vector<std::string> cells = facts_;
    const auto [smallest, largest] = std::minmax_element(seconds.begin(), seconds.end());
    cells.insert(cells.end(), {operation, type, std::to_string(bytes)});
    for (const double value : {median(seconds), *smallest, *largest})
      cells.push_back(fmt::format("{:.9f}", value));
    file_.add(cells);
  }
  void add(std::size_t bytes, const SumRival& rival) {
    if (!rival.ours) return add("mpi_allreduce", "fp32", bytes, rival.seconds[2]);
    add("reduce_scatter", rival.name, bytes, rival.seconds[0]);
    add("all_gather", rival.name, bytes, rival.seconds[1]);
    add("allreduce", rival.name, bytes, rival.seconds[2]);
  }
  void publish() { file_.publish(); }

 private:
  BenchFile file_;
  std::vector<std::string> facts_;
};

}  // namespace

ExitCode bench_allreduce_command(const BenchAllreduceArguments& arguments) {
  CommunicationOptions options;
  options.backend = arguments.backend;
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size == 1)
    fail_input(errors::wrong_rank_count,
               "mylos bench allreduce needs several ranks, and there is 1; start it with mpirun -n 2 mylos "
               "bench allreduce");
  const KokkosRuntime kokkos(0);
  const std::unique_ptr<Communicator> communicator = make_communicator(MPI_COMM_WORLD, options);
  const std::vector<std::size_t> sizes = whole_slices(arguments.sizes, size);
  const std::size_t largest = sizes.back();
  const std::array slots{SlotBytes{largest, largest}};
  // The message, MPI's message and what MPI keeps of it meanwhile.
  require_room(communicator->ranks(),
               static_cast<std::int64_t>(3 * largest + staging_bytes(options, size, slots)),
               fmt::format("messages of {}", format_bytes(static_cast<std::int64_t>(largest))));
  require_replaceable(arguments.csv, OutputKind::other);
  AllreduceFile file(*communicator, arguments.csv);
  AllreduceBench bench(*communicator, largest);
  std::vector<SumRival> rivals = sum_rivals(arguments.types);

  const Output output = standard_output(communicator->rank());
  const int on_node = communicator->ranks().ranks_on_node();
  for (const std::string& line : kokkos.advice()) output.line(line);
  output.line(fmt::format("{} ranks, {} on this node; {}; median of {} rounds\n\n{}", size, on_node,
                          communicator->runs_on_device() ? "NCCL" : "MPI", arguments.rounds,
                          table_head(rivals)));
  for (const std::size_t bytes : sizes) {
    for (SumRival& rival : rivals) {
      rival.forget_times();
      bench.measure(rival, bytes, 1, false);
    }
    for (int round = 0; round < arguments.rounds; ++round) {
      if (round > 0) std::reverse(rivals.begin(), rivals.end());
      for (SumRival& rival : rivals) bench.measure(rival, bytes, rival.repetitions, true);
    }
    if (arguments.rounds % 2 == 0) std::reverse(rivals.begin(), rivals.end());
    output.line(size_line(bytes, rivals));
    for (const SumRival& rival : rivals) file.add(bytes, rival);
  }
  std::vector<double> agreement;
  for (int round = 0; round < arguments.rounds; ++round) agreement.push_back(bench.agreement_seconds());
  output.line(fmt::format("\n  agreement of a step: {:.1f} us", 1e6 * median(agreement)));
  file.add("agreement", "", 0, agreement);
  file.publish();
  return ExitCode::done;
}

}  // namespace mylos::app
