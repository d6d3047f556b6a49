#include <fmt/format.h>

#include "mylos/model/block/block_product.hpp"
#include "mylos/train/plan/engine_choice.hpp"
#include "mylos/train/plan/tables/plan_table.hpp"

namespace mylos {
namespace {

/// GEMMs of the same kind and shape in several layers.
struct Line {
  std::size_t first_stage;
  std::int64_t layers = 1;
  BlockProduct gemm;
};

std::vector<Line> lines_of(const std::vector<ChainProduct>& gemms) {
  std::vector<Line> lines;
  for (const auto& [stage, gemm] : gemms) {
    const auto same = std::find_if(lines.begin(), lines.end(), [&, &own = gemm](const Line& line) {
      return line.gemm.linear == own.linear && line.gemm.times == own.times &&
             same_product(line.gemm.problem, own.problem);
    });
    if (same != lines.end() && same->first_stage != stage) {
      ++same->layers;
    } else {
      lines.push_back({stage, 1, gemm});
    }
  }
  return lines;
}

std::string types_of(const GemmProblem& problem) {
  std::string text(name_of(problem.a));
  return problem.c == problem.a ? text : text + fmt::format(" to {}", name_of(problem.c));
}

}  // namespace

std::string gemms_table(const std::vector<std::string>& stages, const MemoryProblem& problem) {
  std::string text = fmt::format("  {:<24}{:<12}{:>7}{:>7}{:>7}  {:<14}{:<10}{:>6}{:>16}\n", "layer",
                                 "product", "m", "n", "k", "type", "engine", "times", "GFLOP of a step");
  double sum = 0;
  for (const Line& line : lines_of(gemms_of_run(problem))) {
    const GemmProblem& gemm = line.gemm.problem;
    const std::int64_t times = line.layers * line.gemm.times * problem.network.step.max_micro_batches;
    const double gigaflops = 1e-9 * static_cast<double>(times) * flops_of(gemm);
    const std::string layers = line.layers == 1
                                   ? stages[line.first_stage]
                                   : fmt::format("{} and {} more", stages[line.first_stage], line.layers - 1);
    sum += gigaflops;
    text += fmt::format("  {:<24}{:<12}{:>7}{:>7}{:>7}  {:<14}{:<10}{:>6}{:>16.3f}\n", layers,
                        fmt::format("{:<3}{}", name_of(form_of(gemm)), line.gemm.linear), gemm.m, gemm.n,
                        gemm.k, types_of(gemm), problem.engines.gemm.engine_of(gemm), times, gigaflops);
  }
  text += fmt::format("  {:<89}{:>16.3f}\n\n", "all, without what is computed again", sum);
  return text + fmt::format("  computed by {}\n", describe_instructions());
}

}  // namespace mylos
