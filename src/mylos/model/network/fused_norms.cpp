#include "mylos/model/network/fused_norms.hpp"

#include <algorithm>

#include "mylos/base/device/target.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/model/block/norm.hpp"

namespace mylos {
namespace {

/// A range of bytes in the arena.
struct Bytes {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Returns the operation's memory of `rows` rows. The input lies wherever it likes: only its shape counts.
BlockMemory memory_of(const Chain& chain, const Operation& operation, const OperationPlaces& places,
                      const Arena& arena, std::int64_t rows) {
  const auto at = [&](std::size_t offset) { return offset == nowhere ? nullptr : arena.data() + offset; };
  const Signature& writer = chain.signature(operation.block - 1);
  const Signature& own = chain.signature(operation.block);
  return {.weights = {},
          .input = arena.tensor(places.input, writer.output_type, rows, writer.outputs),
          .output = arena.tensor(places.output, own.output_type, rows, own.outputs),
          .saved = at(places.saved),
          .workspace = at(places.workspace),
          .variant = operation.variant};
}

/// Returns the bytes from the begin of the tensor in which `first` lies, so that those of fewer rows are
/// among them.
Bytes bytes_of(const OperationPlaces& places, std::size_t first, std::size_t count) {
  std::size_t begin = 0;
  for (const std::size_t place : {places.saved, places.workspace, places.output}) {
    if (place != nowhere && place <= first) begin = std::max(begin, place);
  }
  return {begin, first + count};
}

bool is_unused(const Bytes& bytes, std::size_t operation, const Lifetimes& lifetimes,
               const Placement& placement) {
  for (std::size_t i = 0; i < lifetimes.tensors.size(); ++i) {
    const TensorLifetime& tensor = lifetimes.tensors[i];
    if (operation < tensor.first || operation > tensor.last || tensor.bytes == 0) continue;
    const std::size_t begin = placement.tensors[i];
    if (begin < bytes.end && bytes.begin < begin + tensor.bytes) return false;
  }
  return true;
}

}  // namespace

std::vector<bool> fused_norms(const Chain& chain, const Engines& engines, const Schedule& schedule,
                              const Lifetimes& lifetimes, const Placement& placement, const Arena& arena,
                              std::int64_t rows) {
  std::vector<bool> fused(schedule.size(), false);
  if constexpr (memory_is_host && !emulates_device) return fused;
  const Execution exec;
  const StepContext context{.exec = exec, .engines = engines};
  for (std::size_t i = 0; i + 1 < schedule.size(); ++i) {
    const Operation& next = schedule[i + 1];
    if (schedule[i].kind != OperationKind::forward || next.kind != OperationKind::forward) continue;
    if (next.block != schedule[i].block + 1 || !chain.blocks[schedule[i].block]->computes_norm()) continue;
    const OperationPlaces& places = placement.operations[i + 1];
    const auto norm =
        chain.blocks[next.block]->input_norm(context, memory_of(chain, next, places, arena, rows));
    if (!norm) continue;
    const auto offset = [&](const void* pointer) {
      return static_cast<std::size_t>(static_cast<const std::byte*>(pointer) - arena.data());
    };
    const Bytes normed = bytes_of(places, offset(norm->normed.data()), norm->normed.bytes());
    const Bytes statistics = bytes_of(places, offset(norm->statistics), norm->norm->statistics_bytes(rows));
    fused[i] = is_unused(normed, i, lifetimes, placement) && is_unused(statistics, i, lifetimes, placement);
  }
  return fused;
}

}  // namespace mylos
