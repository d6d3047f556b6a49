#include "mylos/train/plan/calibration.hpp"

#include <algorithm>
#include <memory>
#include <numeric>

#include "mylos/base/device/timing.hpp"
#include "mylos/model/chain/block_shapes.hpp"
#include "mylos/train/plan/rehearsal.hpp"

namespace mylos {
namespace {

/// Returns the median of the differences between times of the same round. A machine that is slower for a
/// while slows both times.
double median_difference(const std::vector<double>& times, const std::vector<double>& without) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < times.size(); ++i) differences.push_back(times[i] - without[i]);
  return median(std::move(differences));
}

/// Times of a block shape in milliseconds.
struct ShapeTimes {
  std::vector<double> forward;                // of all variants
  std::vector<std::vector<double>> backward;  // [variant]
};

struct Times {
  std::vector<ShapeTimes> shapes;  // index: the shape's first block
  std::vector<double> loss;
  std::vector<double> update;
};

/// Times each block in turn, always in the same order, so that all other blocks run between two uses of a
/// block.
void run_round(Rehearsal& rehearsal, const std::vector<std::size_t>& shape_of, const ChainCost& cost,
               Times& times) {
  const std::size_t blocks = rehearsal.chain().blocks.size();
  for (std::size_t v = 0; v < rehearsal.variants(); ++v) {
    const auto variant = [&](std::size_t block) {
      return std::min(v, cost.blocks[shape_of[block]].variants.size() - 1);
    };
    for (std::size_t i = 0; i < blocks; ++i) {
      times.shapes[shape_of[i]].forward.push_back(rehearsal.forward(i, variant(i)));
    }
    times.loss.push_back(rehearsal.loss());
    for (std::size_t i = 0; i < blocks; ++i) {
      const double time = rehearsal.backward(i, variant(i));
      if (variant(i) == v) times.shapes[shape_of[i]].backward[v].push_back(time);
    }
    times.update.push_back(rehearsal.check_and_update());
  }
}

Times empty_times(const ChainCost& cost) {
  Times times;
  for (const StageCost& block : cost.blocks)
    times.shapes.push_back({{}, std::vector<std::vector<double>>(block.variants.size())});
  return times;
}

/// The chain whose blocks are timed. Of the copies of a rollout these are the first and the second, as all
/// later ones equal it. A feedback is not timed: its modelled time stays.
struct TimedChain {
  Chain chain;
  ChainCost cost;                   // of its blocks
  std::vector<std::size_t> blocks;  // of the planned chain: the block here that has its time
  static constexpr std::size_t untimed = static_cast<std::size_t>(-1);

  TimedChain(const NetworkPlan& network, const ChainCost& planned)
      : chain(network.chain), cost(planned), blocks(planned.blocks.size()) {
    std::iota(blocks.begin(), blocks.end(), std::size_t{0});
    if (!network.rollout || network.rollout->runs_alone()) return;
    const std::size_t own = chain.blocks.size();
    const std::vector<std::shared_ptr<const Block>>& second = network.rollout->copies[1].blocks;
    chain.blocks.insert(chain.blocks.end(), second.begin(), second.end());
    cost.blocks.resize(own);
    for (std::size_t i = 0; i < own; ++i) cost.blocks.push_back(planned.blocks[own + 1 + i]);
    for (std::size_t i = own; i < blocks.size(); ++i) {
      const std::size_t stage = stage_of_copy(i, own);
      blocks[i] = stage == own ? untimed : own + stage;
    }
  }
};

/// The blocks that are timed.
struct Selection {
  std::vector<std::size_t> blocks;
  std::size_t copies = 0;
  std::size_t bytes = 0;
  std::size_t between_uses = 0;
};

}  // namespace

std::optional<Calibration> calibrate(const NetworkPlan& network, const Engines& engines,
                                     const MemoryStatement& statement, std::size_t room,
                                     const CalibrationLimits& limits) {
  const double start = limits.clock();
  const Options& options = network.options;
  const TimedChain timed(network, statement.cost);
  const Chain& whole = timed.chain;
  const std::int64_t rows = statement.micro_batch * whole.rows_per_sample;
  const std::vector<std::size_t> shapes = first_of_shape(whole, engines, rows);

  Selection chosen;
  while (chosen.between_uses < limits.cold_bytes && chosen.blocks.size() < shapes.size()) {
    Selection more{.blocks = first_copies(whole, shapes, chosen.copies + 1), .copies = chosen.copies + 1};
    const Chain part = part_of(whole, more.blocks);
    more.bytes = Rehearsal::memory_bytes(options.optimizer, part, engines, rows);
    more.between_uses = Rehearsal::bytes_between_uses(part, engines, rows);
    if (more.bytes > room) break;
    chosen = std::move(more);
  }
  if (chosen.copies == 0) return std::nullopt;

  Rehearsal rehearsal(options, part_of(whole, chosen.blocks), engines, rows, statement.accumulates,
                      limits.clock);
  std::vector<std::size_t> shape_of;
  for (const std::size_t block : chosen.blocks) shape_of.push_back(shapes[block]);
  Times warm_up = empty_times(timed.cost);
  run_round(rehearsal, shape_of, timed.cost, warm_up);
  Times times = empty_times(timed.cost);
  const auto seconds = [&] { return (limits.clock() - start) / 1000; };
  std::size_t rounds = 0;
  do {
    run_round(rehearsal, shape_of, timed.cost, times);
  } while (++rounds < limits.rounds && seconds() < limits.seconds);

  Calibration result{.cost = statement.cost, .copies = chosen.copies, .bytes = chosen.bytes};
  for (std::size_t i = 0; i < shapes.size(); ++i) result.shapes += shapes[i] == i ? 1 : 0;
  for (std::size_t i = 0; i < timed.blocks.size(); ++i) {
    if (timed.blocks[i] == TimedChain::untimed) continue;
    StageCost& block = result.cost.blocks[i];
    const ShapeTimes& shape = times.shapes[shapes[timed.blocks[i]]];
    block.forward_time = median(shape.forward);
    block.backward_time = median(shape.backward[0]);
    for (std::size_t v = 0; v < block.variants.size(); ++v) {
      block.variants[v].recompute_time =
          std::max(0.0, median_difference(shape.backward[v], shape.backward[0]));
    }
  }
  result.cost.loss_time = median(times.loss);
  const double updated = static_cast<double>(statement.parameters) /
                         static_cast<double>(options.optimizer.shard_owners(statement.ranks));
  const double share = updated / static_cast<double>(rehearsal.parameters());
  result.cost.update_time = share * median(times.update);
  result.cost.measured = true;
  result.seconds = seconds();
  return result;
}

}  // namespace mylos
