#include "mylos/model/placement.hpp"

#include <algorithm>
#include <numeric>

#include "lifetimes.hpp"
#include "transient_depths.hpp"

namespace mylos {
namespace {

/// The kept tensors' offsets from the bottom; each lies on top of those that are alive when it begins.
/// `heights`: where the topmost ends during each operation.
std::vector<std::size_t> stack_offsets(const Lifetimes& lifetimes, std::vector<std::size_t>& heights) {
  const std::vector<TensorLifetime>& tensors = lifetimes.tensors;
  std::vector<std::size_t> offsets(tensors.size(), 0);
  std::vector<std::size_t> alive;
  std::size_t next = 0;
  for (std::size_t at = 0; at < lifetimes.operations.size(); ++at) {
    std::erase_if(alive, [&](std::size_t tensor) { return tensors[tensor].last < at; });
    std::size_t top = 0;
    for (const std::size_t tensor : alive) top = std::max(top, offsets[tensor] + tensors[tensor].bytes);
    for (; next < tensors.size() && tensors[next].first == at; ++next) {
      if (!tensors[next].kept) continue;
      offsets[next] = top;
      top += tensors[next].bytes;
      alive.push_back(next);
    }
    heights.push_back(top);
  }
  return offsets;
}

}  // namespace

Placement place(const ChainCost& cost, const Schedule& schedule) {
  const Lifetimes lifetimes = trace_lifetimes(cost, schedule);
  std::vector<std::size_t> heights;
  std::vector<std::size_t> offsets = stack_offsets(lifetimes, heights);
  const std::vector<std::size_t> depths = transient_depths(lifetimes, heights);

  Placement result;
  for (std::size_t at = 0; at < heights.size(); ++at) result.bytes = std::max(result.bytes, heights[at]);
  for (std::size_t i = 0; i < depths.size(); ++i) {
    const TensorLifetime& tensor = lifetimes.tensors[i];
    if (tensor.kept) continue;
    for (std::size_t at = tensor.first; at <= tensor.last; ++at) {
      result.bytes = std::max(result.bytes, heights[at] + depths[i] + tensor.bytes);
    }
  }
  for (std::size_t i = 0; i < depths.size(); ++i) {
    if (!lifetimes.tensors[i].kept) offsets[i] = result.bytes - depths[i] - lifetimes.tensors[i].bytes;
  }

  const auto offset = [&](std::size_t tensor) { return tensor == no_tensor ? nowhere : offsets[tensor]; };
  for (std::size_t at = 0; at < schedule.size(); ++at) {
    const OperationTensors& tensors = lifetimes.operations[at];
    const bool outside = schedule[at].block == 0 && cost.input_bytes == 0;
    result.operations.push_back({outside ? nowhere : offset(tensors.input), offset(tensors.output),
                                 offset(tensors.saved), offset(tensors.workspace),
                                 offset(tensors.output_gradient), offset(tensors.input_gradient)});
  }
  return result;
}

std::vector<std::size_t> live_bytes(const ChainCost& cost, const Schedule& schedule) {
  const Lifetimes lifetimes = trace_lifetimes(cost, schedule);
  const std::size_t count = lifetimes.operations.size();
  std::vector<std::size_t> bytes(count + 1, 0);
  for (const TensorLifetime& tensor : lifetimes.tensors) {
    bytes[tensor.first] += tensor.bytes;
    bytes[tensor.last + 1] -= tensor.bytes;  // wraps; the running sum below unwraps
  }
  std::partial_sum(bytes.begin(), bytes.end(), bytes.begin());
  bytes.pop_back();
  return bytes;
}

std::size_t live_peak(const ChainCost& cost, const Schedule& schedule) {
  const std::vector<std::size_t> bytes = live_bytes(cost, schedule);
  return *std::max_element(bytes.begin(), bytes.end());
}

}  // namespace mylos
