#include "mylos/train/step/agreed_kernels.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/base/instructions.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/comm/ranks/values_of_ranks.hpp"
#include "mylos/kernels/attention/fused_attention.hpp"

namespace mylos {
namespace {

/// What a rank may go by.
struct Own {
  std::uint32_t instructions = 0;  // a bit for each
  std::int32_t matrix_unit = 0;

  bool operator==(const Own&) const = default;
};

std::uint32_t bit_of(Instructions instructions) {
  return 1u << static_cast<unsigned>(instructions);
}

/// A program that embeds Mylos may have chosen less than the processor has.
std::vector<Instructions> up_to_those_in_use() {
  std::vector<Instructions> list = available_instructions();
  std::erase_if(list, [](Instructions instructions) { return instructions > instructions_in_use(); });
  return list;
}

Own own() {
  Own result;
  for (const Instructions instructions : up_to_those_in_use()) result.instructions |= bit_of(instructions);
  result.matrix_unit = could_use_matrix_unit() ? 1 : 0;
  return result;
}

void require(Instructions wanted) {
  if (is_available(wanted)) return;
  std::vector<std::string_view> names;
  for (const Instructions instructions : available_instructions()) names.push_back(name_of(instructions));
  fail_input(
      errors::no_instructions,
      "kernels.instructions = \"{}\" is not available on this processor or in this build; available are {}",
      name_of(wanted), fmt::join(names, ", "));
}

std::string best_of_this_rank() {
  return fmt::format("{}{}", name_of(up_to_those_in_use().back()),
                     could_use_matrix_unit() ? " with a matrix unit" : "");
}

/// A library may be limited by a rank's environment (ONEDNN_MAX_CPU_ISA), or be in one node's build
/// alone.
void require_same_engines(const Libraries& libraries, RankGroup& ranks) {
  const auto engines = values_of_ranks(
      ranks,
      fmt::format("{} by {}{}", fmt::join(gemm_engine_names(), " or "), describe_instructions(),
                  libraries.attention != nullptr ? " with " + libraries.attention->description() : ""));
  if (engines.size() == 1) return;
  fail_input(
      errors::ranks_disagree,
      "the ranks would not compute alike: their GEMM engines are {}; start all with the same build and the "
      "same environment (ONEDNN_MAX_CPU_ISA), and with cuDNN on all nodes or on none",
      describe(engines));
}

}  // namespace

KernelOptions agreed_kernels(const KernelOptions& wanted, RankGroup& ranks) {
  if (wanted.instructions) {
    run_on_all(ranks, [&] { require(*wanted.instructions); });
    return wanted;
  }
  const Own mine = own();
  std::vector<Own> all(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(&mine, all.data(), sizeof(Own));
  if (std::all_of(all.begin(), all.end(), [&](const Own& other) { return other == all.front(); }))
    return wanted;
  KernelOptions agreed = wanted;
  for (const Instructions instructions : up_to_those_in_use()) {
    const auto has = [&](const Own& other) { return (other.instructions & bit_of(instructions)) != 0; };
    if (std::all_of(all.begin(), all.end(), has)) agreed.instructions = instructions;
  }
  run_on_all(ranks, [&] {
    if (!agreed.instructions)
      fail_input(errors::no_instructions, "the ranks' processors have no instructions in common");
  });
  return agreed;
}

std::unique_ptr<EngineSet> make_agreed_engines(const KernelOptions& wanted, RankGroup& ranks,
                                               const std::function<void(const std::string&)>& line) {
  const KernelOptions kernels = agreed_kernels(wanted, ranks);
  const std::string best = best_of_this_rank();  // before it is limited to what all ranks have
  std::unique_ptr<EngineSet> engines;
  run_on_all(ranks, [&] { engines = make_engines(kernels); });
  require_same_engines(engines->libraries(), ranks);
  if (kernels != wanted) {
    line(fmt::format("the ranks' processors differ ({}): all compute by {}",
                     describe(values_of_ranks(ranks, best)), describe_instructions()));
  }
  return engines;
}

}  // namespace mylos
