#include "mylos/model/source/source_calls.hpp"

#include <algorithm>

#include "mylos/model/source/source_passes.hpp"

namespace mylos {

bool SourcePass::uses(const std::string& buffer) const {
  return std::any_of(calls.begin(), calls.end(), [&](const SourceCall& call) {
    return std::any_of(call.arguments.begin(), call.arguments.end(), [&](const SourceArgument& argument) {
      const auto* address = std::get_if<SourceAddress>(&argument);
      return address != nullptr && address->buffer == buffer;
    });
  });
}

std::int64_t SourcePass::buffer_width() const {
  std::int64_t width = 0;
  for (const SourceBuffer& buffer : buffers) width += buffer.width;
  return width;
}

std::int64_t SourcePlan::numbers() const {
  std::int64_t count = 0;
  for (const SourceConstant& constant : constants) count += static_cast<std::int64_t>(constant.values.size());
  return count;
}

SourcePlan plan_source(const SourceNetwork& network, const std::set<std::string>& reserved,
                       bool derivatives) {
  SourcePlan plan;
  plan.inputs = network.inputs;
  plan.outputs = network.outputs();
  const SourceConstants constants(network, reserved, plan);
  plan.forward = forward_pass(network, constants);
  if (!derivatives) return plan;
  const SourceTape tape(network);
  plan.tape = tape.size();
  plan.tape_forward = tape_pass(network, constants, tape);
  plan.tangent = tangent_pass(network, constants, tape);
  plan.pullback = pullback_pass(network, constants, tape);
  return plan;
}

std::set<std::string> routines_of(const SourcePass& pass) {
  std::set<std::string> routines;
  for (const SourceCall& call : pass.calls)
    routines.insert(call.is_block_of_points() ? call.routine + "_block" : call.routine);
  return routines;
}

}  // namespace mylos
