// mylos bench gemm: measures the rate of every GEMM engine, by type and shape.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "commands.hpp"
#include "commands/bench_measurement.hpp"
#include "commands/replaced_file.hpp"
#include "launch/runtime.hpp"
#include "launch/standard_output.hpp"
#include "launch/start.hpp"
#include "mylos/base/device/arena.hpp"
#include "mylos/base/device/timing.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/base/instructions.hpp"
#include "mylos/base/numbers/number_text.hpp"
#include "mylos/base/version.hpp"
#include "mylos/comm/options.hpp"
#include "mylos/kernels/gemm/layer_gemms.hpp"
#include "mylos/kernels/launch/noise.hpp"
#include "tables/bench_report.hpp"

namespace mylos::app {
namespace {

constexpr std::int64_t squares[] = {256, 512, 1024, 2048};
// The largest side: libraries count the elements of a matrix in at least 32 bits.
constexpr std::int64_t longest_side = 1 << 20;
// A measurement repeats GEMMs until it takes this time.
constexpr double measured_ms = 10;

/// Nothing if it is not a valid side of a matrix for all libraries.
std::optional<std::int64_t> side_of(std::string_view text) {
  const auto side = to_number<std::int64_t>(text);
  return side && *side >= 1 && *side <= longest_side ? side : std::nullopt;
}

/// "512x784x2048".
LayerShape shape_of(const std::string& text) {
  const std::string_view view = text;
  const std::size_t first = view.find('x');
  const std::size_t last = view.rfind('x');
  if (first != last) {
    const auto samples = side_of(view.substr(0, first));
    const auto inputs = side_of(view.substr(first + 1, last - first - 1));
    const auto outputs = side_of(view.substr(last + 1));
    if (samples && inputs && outputs) return {*samples, *inputs, *outputs};
  }
  fail_input(errors::bad_argument,
             "--shapes: '{}' is not a shape; expected samples, inputs and outputs of a layer, each from 1 to "
             "{}, as in 512x784x2048",
             printable(text), longest_side);
}

std::vector<LayerShape> shapes_of(const std::vector<std::string>& texts) {
  std::vector<LayerShape> shapes;
  for (const std::string& text : texts) shapes.push_back(shape_of(text));
  if (!shapes.empty()) return shapes;
  for (const std::int64_t side : squares) shapes.push_back({side, side, side});
  for (const LayerShape& layer : typical_layers()) shapes.push_back(layer);
  return shapes;
}

struct EngineRival {
  std::unique_ptr<GemmEngine> engine;
  int repetitions = 1;
  std::vector<double> times = {};  // milliseconds of one GEMM, a value per round
};

std::vector<EngineRival> engine_rivals(const std::vector<std::string>& names,
                                       const std::string& instructions) {
  std::vector<EngineRival> rivals;
  for (const std::string& name : names.empty() ? gemm_engine_names() : names) {
    KernelOptions options{.gemm = gemm_engine_named(name)};
    if (!instructions.empty()) options.instructions = instructions_named(instructions);
    rivals.push_back({.engine = make_gemm_engine(options)});
  }
  return rivals;
}

std::size_t matrix_bytes(std::int64_t rows, std::int64_t columns, DType type) {
  return aligned_bytes(static_cast<std::size_t>(rows * columns) * size_of(type));
}

/// A, B, C and a workspace for every compared engine, one after the other in memory.
struct OperandOffsets {
  std::size_t b = 0;
  std::size_t c = 0;
  std::size_t workspace = 0;
  std::size_t end = 0;
};

OperandOffsets offsets_of(const GemmProblem& problem, const std::vector<EngineRival>& rivals) {
  OperandOffsets offsets;
  offsets.b = matrix_bytes(problem.m, problem.k, problem.a);
  offsets.c = offsets.b + matrix_bytes(problem.k, problem.n, problem.b);
  offsets.workspace = offsets.c + matrix_bytes(problem.m, problem.n, problem.c);
  offsets.end = offsets.workspace;
  for (const EngineRival& rival : rivals)
    offsets.end = std::max(offsets.end, offsets.workspace + rival.engine->workspace_bytes(problem));
  return offsets;
}

class GemmBench {
 public:
  explicit GemmBench(std::size_t bytes) : arena_("GEMMs", bytes) {}

  void measure(std::vector<EngineRival>& rivals, const GemmProblem& problem, int rounds) {
    const OperandOffsets offsets = offsets_of(problem, rivals);
    fill_with_noise(exec_, arena_.tensor(0, problem.a, 1, problem.m * problem.k));
    fill_with_noise(exec_, arena_.tensor(offsets.b, problem.b, 1, problem.k * problem.n));
    // As in a step, the host waits for a device only after the last GEMM.
    const auto milliseconds_of = [&](EngineRival& rival, int times) {
      return milliseconds([&] {
        for (int i = 0; i < times; ++i) {
          rival.engine->run(exec_, problem,
                            {arena_.data(), arena_.data() + offsets.b, arena_.data() + offsets.c},
                            arena_.data() + offsets.workspace);
        }
        exec_.fence("measured GEMM");
      });
    };
    for (EngineRival& rival : rivals) {
      milliseconds_of(rival, 1);  // makes what the engine keeps
      const double once = milliseconds_of(rival, 1);
      rival.repetitions = std::max(1, static_cast<int>(std::min(1e4, measured_ms / once)));
      rival.times.clear();
    }
    for (int round = 0; round < rounds; ++round) {
      for (EngineRival& rival : rivals)
        rival.times.push_back(milliseconds_of(rival, rival.repetitions) / rival.repetitions);
    }
  }

 private:
  Execution exec_;
  Arena arena_;
};

/// "-" if the engine forwards the GEMM to another one.
std::string rate_cell(const EngineRival& rival, const GemmProblem& problem) {
  if (rival.engine->engine_of(problem) != rival.engine->name()) return "-";
  return fmt::format("{:.1f}", 1e-6 * flops_of(problem) / median(rival.times));
}

std::vector<std::string> rate_cells(const EngineRival& rival, const NamedGemm& gemm) {
  const GemmProblem& problem = gemm.problem;
  const auto [smallest, largest] = std::minmax_element(rival.times.begin(), rival.times.end());
  std::vector<std::string> cells{"gemm",
                                 code_version(),
                                 std::to_string(Kokkos::DefaultHostExecutionSpace().concurrency()),
                                 std::string(rival.engine->name()),
                                 std::string(rival.engine->engine_of(problem)),
                                 std::string(name_of(problem.a)),
                                 gemm.name,
                                 fmt::format("{:.0f}", flops_of(problem))};
  for (const double time : {median(rival.times), *smallest, *largest})
    cells.push_back(fmt::format("{:.9f}", 1e-3 * time));
  return cells;
}

}  // namespace

ExitCode bench_gemm_command(const BenchGemmArguments& arguments) {
  RankGroup& ranks = ranks_of_start();
  if (ranks.size() > 1)
    fail_input(errors::wrong_rank_count,
               "mylos bench gemm runs on one rank; start it without mpirun, or with -n 1");
  const std::vector<LayerShape> shapes = shapes_of(arguments.shapes);
  const KokkosRuntime kokkos(0);
  std::vector<EngineRival> rivals = engine_rivals(arguments.engines, arguments.instructions);
  std::size_t bytes = 0;
  for (const std::string& type : arguments.types) {
    for (const LayerShape& shape : shapes) {
      for (const NamedGemm& gemm : gemms_of_layer(shape, type_named(type)))
        bytes = std::max(bytes, offsets_of(gemm.problem, rivals).end);
    }
  }
  require_room(ranks, static_cast<std::int64_t>(bytes), "the matrices of the largest GEMM");
  require_replaceable(arguments.csv, OutputKind::other);
  BenchFile file(ranks, arguments.csv,
                 {"benchmark", "mylos", "threads", "engine", "computed_by", "type", "product", "flops",
                  "seconds", "smallest_s", "largest_s"});
  GemmBench bench(bytes);

  const Output output = standard_output(ranks.rank());
  for (const std::string& line : kokkos.advice()) output.line(line);
  output.line(fmt::format("GFLOP/s, median of {} rounds; {} threads, {}; -: computed by another engine",
                          arguments.rounds, Kokkos::DefaultHostExecutionSpace().concurrency(),
                          describe_instructions()));
  for (const std::string& type : arguments.types) {
    std::string head = fmt::format("\n  {:<6}{:<22}", type, "samples x in x out");
    for (const EngineRival& rival : rivals) head += fmt::format("{:>12}", rival.engine->name());
    output.line(head);
    for (const LayerShape& shape : shapes) {
      for (const NamedGemm& gemm : gemms_of_layer(shape, type_named(type))) {
        bench.measure(rivals, gemm.problem, arguments.rounds);
        const std::string::size_type slash = gemm.name.find('/');
        std::string line =
            fmt::format("  {:<6}{:<22}", gemm.name.substr(0, slash), gemm.name.substr(slash + 1));
        for (const EngineRival& rival : rivals) {
          line += fmt::format("{:>12}", rate_cell(rival, gemm.problem));
          file.add(rate_cells(rival, gemm));
        }
        output.line(line);
      }
    }
  }
  file.publish();
  return ExitCode::done;
}

}  // namespace mylos::app
