#include <fmt/format.h>

#include "mylos/model/block/block_product.hpp"
#include "mylos/train/plan/product_choice.hpp"
#include "mylos/train/plan/tables/plan_table.hpp"

namespace mylos {
namespace {

/// GEMMs of the same kind and shape in several layers.
struct Line {
  std::size_t first_stage;
  std::int64_t layers = 1;
  BlockProduct product;
};

std::vector<Line> lines_of(const std::vector<ChainProduct>& products) {
  std::vector<Line> lines;
  for (const auto& [stage, product] : products) {
    const auto same = std::find_if(lines.begin(), lines.end(), [&, &own = product](const Line& line) {
      return line.product.linear == own.linear && line.product.times == own.times &&
             same_product(line.product.problem, own.problem);
    });
    if (same != lines.end() && same->first_stage != stage) {
      ++same->layers;
    } else {
      lines.push_back({stage, 1, product});
    }
  }
  return lines;
}

std::string types_of(const GemmProblem& problem) {
  std::string text(name_of(problem.a));
  return problem.c == problem.a ? text : text + fmt::format(" to {}", name_of(problem.c));
}

}  // namespace

std::string products_table(const std::vector<std::string>& stages, const MemoryProblem& problem) {
  std::string text = fmt::format("  {:<24}{:<12}{:>7}{:>7}{:>7}  {:<14}{:<10}{:>6}{:>16}\n", "layer",
                                 "product", "m", "n", "k", "type", "engine", "times", "GFLOP of a step");
  double sum = 0;
  for (const Line& line : lines_of(products_of_run(problem))) {
    const GemmProblem& product = line.product.problem;
    const std::int64_t times = line.layers * line.product.times * problem.network.step.max_micro_batches;
    const double gigaflops = 1e-9 * static_cast<double>(times) * flops_of(product);
    const std::string layers = line.layers == 1
                                   ? stages[line.first_stage]
                                   : fmt::format("{} and {} more", stages[line.first_stage], line.layers - 1);
    sum += gigaflops;
    text += fmt::format("  {:<24}{:<12}{:>7}{:>7}{:>7}  {:<14}{:<10}{:>6}{:>16.3f}\n", layers,
                        fmt::format("{:<3}{}", name_of(form_of(product)), line.product.linear), product.m,
                        product.n, product.k, types_of(product), problem.engines.gemm.engine_of(product),
                        times, gigaflops);
  }
  text += fmt::format("  {:<89}{:>16.3f}\n\n", "all, without what is computed again", sum);
  return text + fmt::format("  computed by {}\n", describe_instructions());
}

}  // namespace mylos
