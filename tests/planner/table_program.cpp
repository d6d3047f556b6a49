#include "table_program.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace mylos::test {
namespace {

constexpr double infeasible = std::numeric_limits<double>::infinity();

class Table {
 public:
  Table(const ChainCost& cost, std::size_t bytes, std::size_t unit)
      : cost_(cost), unit_(unit), blocks_(cost.blocks.size()), columns_(bytes / unit + 1) {
    reader_.resize(blocks_ + 1, 0);
    for (std::size_t i = 0; i < blocks_; ++i)
      if (cost.blocks[i].skip != no_skip) reader_[cost.blocks[i].skip] = i;
    times_.resize((blocks_ + 1) * (blocks_ + 1) * columns_, infeasible);
    for (std::size_t last = 0; last <= blocks_; ++last) {
      for (std::size_t first = last + 1; first-- > 0;) fill(first, last);
    }
  }

  [[nodiscard]] double best() const { return row(0, blocks_)[columns_ - 1]; }

 private:
  [[nodiscard]] double* row(std::size_t first, std::size_t last) {
    return times_.data() + (first * (blocks_ + 1) + last) * columns_;
  }
  [[nodiscard]] const double* row(std::size_t first, std::size_t last) const {
    return times_.data() + (first * (blocks_ + 1) + last) * columns_;
  }
  [[nodiscard]] std::size_t own(std::size_t boundary) const { return cost_.boundary_bytes(boundary); }
  /// Of the tuple that x_boundary is what begins behind x_from.
  [[nodiscard]] std::size_t tuple(std::size_t boundary, std::size_t from) const {
    std::size_t bytes = own(boundary);
    for (std::size_t s = from + 1; s < boundary; ++s) bytes += reader_[s] >= boundary ? own(s) : 0;
    return bytes;
  }
  /// δ behind the last stage of a segment.
  [[nodiscard]] std::size_t gradient(std::size_t last) const {
    return last == blocks_ ? 0 : tuple(last + 1, 0);
  }

  void fill(std::size_t first, std::size_t last) {
    if (first == blocks_) {
      const std::size_t need = (own(blocks_) + cost_.loss_workspace) / unit_;
      for (std::size_t m = need; m < columns_; ++m) row(first, last)[m] = cost_.loss_time;
      return;
    }
    for (const VariantCost& variant : cost_.blocks[first].variants) fill_keeping(first, last, variant);
    double pass_time = 0;
    std::size_t pass = 0;
    for (std::size_t stop = first + 1; stop <= last; ++stop) {
      const StageCost& block = cost_.blocks[stop - 1];
      const std::size_t input = stop - 1 > first ? tuple(stop - 1, first) : 0;
      pass_time += block.forward_time;
      pass = std::max(pass, gradient(last) + input + block.output_bytes + block.forward_workspace);
      const std::size_t kept = tuple(stop, first) / unit_;
      const double* later = row(stop, last);
      const double* again = row(first, stop - 1);
      double* best = row(first, last);
      for (std::size_t m = std::max(kept, pass / unit_); m < columns_; ++m)
        best[m] = std::min(best[m], pass_time + later[m - kept] + again[m]);
    }
  }

  void fill_keeping(std::size_t first, std::size_t last, const VariantCost& variant) {
    const StageCost& block = cost_.blocks[first];
    const std::size_t kept = block.output_bytes + variant.saved_bytes;
    std::size_t written = first == 0 ? 0 : own(first);
    if (block.skip != no_skip && block.skip > 0 && reader_[block.skip] == first) written += own(block.skip);
    const std::size_t need = std::max(gradient(last) + kept + block.forward_workspace,
                                      gradient(first) + kept + written + variant.backward_workspace);
    const double time = block.forward_time + block.backward_time + variant.recompute_time;
    double* best = row(first, last);
    for (std::size_t m = std::max(kept, need) / unit_; m < columns_; ++m) {
      const double rest = first == last ? 0 : row(first + 1, last)[m - kept / unit_];
      best[m] = std::min(best[m], time + rest);
    }
  }

  const ChainCost& cost_;
  std::size_t unit_;
  std::size_t blocks_;
  std::size_t columns_;
  std::vector<std::size_t> reader_;  // of each boundary the last block that reads it as a skip, or 0
  std::vector<double> times_;        // [first][last][units]
};

}  // namespace

double table_time(const ChainCost& cost, std::size_t budget, std::size_t unit) {
  if (budget < cost.input_bytes) return infeasible;
  return Table(cost, budget - cost.input_bytes, unit).best();
}

}  // namespace mylos::test
