#include "launch/placement_report.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "mylos/base/memory_is_host.hpp"
#include "mylos/comm/ranks/values_of_ranks.hpp"

namespace mylos::app {
namespace {

const RankPlacement& placement_of(const Placement& placement, int rank) {
  return placement[static_cast<std::size_t>(rank)];
}

int count(const CoreSet& cores) {
  return static_cast<int>(cores.count());
}

const char* verb(const std::vector<int>& ranks, const char* of_one, const char* of_several) {
  return ranks.size() == 1 ? of_one : of_several;
}

std::string cores_text(int cores) {
  return fmt::format("{} core{}", cores, cores == 1 ? "" : "s");
}

/// The number of threads per rank that fits the node; at least one.
int fitting_threads(const Node& node) {
  return std::max(1, count(node.usable) / static_cast<int>(node.ranks.size()));
}

/// A problem on a node: the ranks, and the rest of the sentence after "on NODE".
struct Finding {
  std::vector<int> ranks;
  std::string text;
};

using Look = std::function<std::optional<Finding>(const Placement&, const Node&)>;

/// Ranks with more threads than the cores that they are bound to; the worst case of a node.
struct Crowd {
  std::vector<int> ranks;
  CoreSet cores;
  int threads = 0;
  int max_threads = 0;  // of a rank
  bool chosen = true;   // by their cores alone
  [[nodiscard]] int excess() const { return threads - count(cores); }
};

std::optional<Crowd> worst_crowd(const Placement& placement, const Node& node) {
  std::optional<Crowd> worst;
  for (const int rank : node.ranks) {
    Crowd crowd;
    crowd.cores = placement_of(placement, rank).bound;
    for (const int other : node.ranks) {
      const RankPlacement& own = placement_of(placement, other);
      if ((own.bound & ~crowd.cores).any()) continue;
      crowd.ranks.push_back(other);
      crowd.threads += own.threads;
      crowd.max_threads = std::max(crowd.max_threads, own.threads);
      crowd.chosen = crowd.chosen && own.chosen_threads;
    }
    if (crowd.excess() > (worst ? worst->excess() : 0)) worst = crowd;
  }
  return worst;
}

std::optional<Finding> too_many_threads(const Placement& placement, const Node& node) {
  const std::optional<Crowd> crowd = worst_crowd(placement, node);
  if (!crowd) return std::nullopt;
  const int usable = count(node.usable);
  const int fitting = fitting_threads(node);
  const bool is_bound = crowd->cores != node.usable;
  const std::string where = is_bound ? fmt::format("{} of its {}", count(crowd->cores), cores_text(usable))
                                     : fmt::format("its {}", cores_text(usable));
  std::vector<std::string> help;
  if (static_cast<int>(node.ranks.size()) > usable) {
    help.push_back(fmt::format("start at most {} rank{} there", usable, usable == 1 ? "" : "s"));
  } else {
    const int wanted = crowd->chosen ? fitting : std::min(fitting, crowd->max_threads);
    if (is_bound)
      help.push_back(
          fmt::format("`mpirun --bind-to none` or `srun --cpus-per-task={}` gives them more", wanted));
    if (crowd->max_threads > fitting) help.push_back(fmt::format("OMP_NUM_THREADS={} fits", fitting));
  }
  return Finding{crowd->ranks, fmt::format("{} {} threads on {}: {}", verb(crowd->ranks, "has", "have"),
                                           crowd->threads, where, fmt::join(help, ", "))};
}

std::optional<Finding> idle_cores(const Placement& placement, const Node& node) {
  const bool wanted = std::any_of(node.ranks.begin(), node.ranks.end(), [&](int rank) {
    return !placement_of(placement, rank).chosen_threads;  // somebody asked for these numbers
  });
  // A core with several hardware threads is in use if one of them is bound (srun --hint=nomultithread).
  if (wanted || (node.usable & ~node.occupied).none()) return std::nullopt;
  return Finding{node.ranks,
                 fmt::format("{} bound to {} of its {}, and the others are idle: `mpirun --bind-to none` or "
                             "`srun --cpus-per-task={}` uses them",
                             verb(node.ranks, "is", "are"), count(node.bound), cores_text(count(node.usable)),
                             fitting_threads(node))};
}

std::optional<Finding> crowded_devices(const Placement&, const Node& node) {
  const int ranks = static_cast<int>(node.ranks.size());
  if (node.devices == 0 || ranks <= node.devices_in_use) return std::nullopt;
  if (node.devices_in_use < node.devices) {
    return Finding{
        node.ranks,
        fmt::format("share {} of its {} devices: let every rank see all of them (no CUDA_VISIBLE_DEVICES, "
                    "`srun --gpus-per-node={}`), and each takes its own",
                    node.devices_in_use, node.devices, node.devices)};
  }
  return Finding{
      node.ranks,
      fmt::format("share {} device{}: `mpirun --map-by ppr:{}:node` or `srun --ntasks-per-node={}` starts "
                  "one for each",
                  node.devices_in_use, node.devices_in_use == 1 ? "" : "s", node.devices_in_use,
                  node.devices_in_use)};
}

/// Prints one line for all nodes with the same problem.
std::optional<std::string> line_on(const Placement& placement, const std::vector<Node>& nodes,
                                   const Look& inspect) {
  std::string line;
  int more = 0;
  for (const Node& node : nodes) {
    const std::optional<Finding> finding = inspect(placement, node);
    if (!finding) continue;
    if (!line.empty()) {
      ++more;
      continue;
    }
    line = fmt::format("warning: {} on {} {}", name_ranks(finding->ranks), node.name, finding->text);
  }
  if (line.empty()) return std::nullopt;
  if (more > 0) line += fmt::format("; the like on {} more node{}", more, more == 1 ? "" : "s");
  return line;
}

std::optional<std::string> different_threads(const Placement& placement) {
  std::map<int, std::vector<int>> ranks_by_threads;
  for (std::size_t rank = 0; rank < placement.size(); ++rank)
    ranks_by_threads[placement[rank].threads].push_back(static_cast<int>(rank));
  if (ranks_by_threads.size() == 1) return std::nullopt;
  const auto& [least, slowest] = *ranks_by_threads.begin();
  const auto& [most, fastest] = *ranks_by_threads.rbegin();
  return fmt::format(
      "warning: {} {} {} thread{}, {} {} {}: every step waits for the slowest; OMP_NUM_THREADS or "
      "run.threads sets them",
      name_ranks(slowest), verb(slowest, "has", "have"), least, least == 1 ? "" : "s", name_ranks(fastest),
      verb(fastest, "has", "have"), most);
}

/// True on hosts, where the rounding of GEMMs may depend on the number of threads.
std::optional<std::string> threads_by_chance(const Placement& placement) {
  const RankPlacement& first = placement.front();
  if (!first.chosen_threads) return std::nullopt;
  return fmt::format(
      "warning: run.reproducible holds for as many threads per rank as here, {}, which go by the cores and "
      "ranks of the node: run.threads={} keeps them elsewhere",
      first.threads, first.threads);
}

/// Formatted like the beginning of `nvidia-smi -L`.
std::string device_name(const DeviceId& device) {
  return fmt::format("GPU-{:02x}{:02x}{:02x}{:02x}", device[0], device[1], device[2], device[3]);
}

std::string cores_and_threads(const RankPlacement& own) {
  return fmt::format("{:<11}  {:>7}", list_of(own.bound), own.threads);
}

std::string layout_of(const Placement& placement, const Node& node) {
  std::string layout = fmt::format("{} devices in use", node.devices_in_use);
  for (const int rank : node.ranks) layout += '\n' + cores_and_threads(placement_of(placement, rank));
  return layout;
}

}  // namespace

std::vector<std::string> placement_advice(const Placement& placement, bool reproducible) {
  const std::vector<Node> nodes = nodes_of(placement);
  std::optional<std::string> on_cores = line_on(placement, nodes, too_many_threads);
  if (!on_cores) on_cores = line_on(placement, nodes, idle_cores);
  if (!on_cores) on_cores = different_threads(placement);
  std::vector<std::string> lines;
  for (const auto& line : {on_cores, line_on(placement, nodes, crowded_devices)}) {
    if (line) lines.push_back(*line);
  }
  if (memory_is_host && reproducible) {
    if (const auto line = threads_by_chance(placement)) lines.push_back(*line);
  }
  return lines;
}

std::string placement_table(const Placement& placement) {
  const std::vector<Node> nodes = nodes_of(placement);
  std::size_t width = 4;  // of the heading
  std::map<std::string, std::vector<const Node*>> alike;
  for (const Node& node : nodes) {
    width = std::max(width, node.name.size());
    alike[layout_of(placement, node)].push_back(&node);
  }
  std::vector<std::string> lines{fmt::format("# rank  {:<{}}  cores        threads  device", "node", width)};
  for (const Node& node : nodes) {
    const std::vector<const Node*>& like_it = alike[layout_of(placement, node)];
    if (like_it.front() != &node) continue;
    for (const int rank : node.ranks) {
      const RankPlacement& own = placement_of(placement, rank);
      lines.push_back(fmt::format("# {:>4}  {:<{}}  {}  {}", rank, node.name, width, cores_and_threads(own),
                                  own.devices > 0 ? device_name(own.device) : "none"));
    }
    if (like_it.size() > 1) {
      lines.push_back(fmt::format("# laid out so: {} more node{}, the last one {}", like_it.size() - 1,
                                  like_it.size() == 2 ? "" : "s", like_it.back()->name));
    }
  }
  return fmt::format("{}", fmt::join(lines, "\n"));
}

}  // namespace mylos::app
