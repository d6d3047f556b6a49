#include "mylos/model/rollout/feedback_store.hpp"

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/execution.hpp"

namespace mylos {
namespace {

template <class Value>
void copy_to(std::byte* target, const std::vector<Value>& values) {
  using OnHost = Kokkos::View<const Value*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>;
  using OnDevice = Kokkos::View<Value*, Device, Kokkos::MemoryUnmanaged>;
  Kokkos::deep_copy(OnDevice(reinterpret_cast<Value*>(target), values.size()),
                    OnHost(values.data(), values.size()));
}

template <class Value>
std::size_t table_bytes(std::int64_t count) {
  return aligned_bytes(static_cast<std::size_t>(count) * sizeof(Value));
}

void add_reader(PreviousReaders& readers, std::int32_t channel) {
  if (readers.first < 0) {
    readers.first = channel;
  } else if (readers.second < 0) {
    readers.second = channel;
  } else {
    fail_run(errors::internal, "more than two input channels of the next step read one of the previous");
  }
}

}  // namespace

FeedbackStore::Places FeedbackStore::places_of(const RolloutOptions& options, const Chain& chain,
                                               std::int64_t samples) {
  const FeedbackMap& map = options.feedback;
  Places places;
  places.outputs = table_bytes<FeedbackEntry>(map.input_channels());
  places.previous = places.outputs + table_bytes<OutputReader>(map.output_channels);
  places.counts = places.previous + table_bytes<PreviousReaders>(map.input_channels());
  places.inputs = places.counts + table_bytes<std::uint8_t>(static_cast<std::int64_t>(map.counts.size()));
  places.input_bytes =
      aligned_bytes(static_cast<std::size_t>(samples * chain.rows_per_sample * chain.inputs()) *
                    size_of(chain.input_type()));
  const bool is_row = map.row_channels == map.input_channels() && options.noise == 0;
  const bool is_detached = options.detach && options.steps > 1;
  places.count = is_detached ? 2 : is_row ? 0 : 1;
  places.bytes = places.inputs + static_cast<std::size_t>(places.count) * places.input_bytes;
  return places;
}

PartMemory FeedbackStore::memory(const RolloutOptions& options, const Chain& chain, std::int64_t samples) {
  return {{"rollout", options.any() ? places_of(options, chain, samples).bytes : 0}};
}

FeedbackStore::FeedbackStore(const RolloutOptions& options, const Chain& chain, std::int64_t samples)
    : map_(options.feedback),
      noise_(static_cast<float>(options.noise)),
      type_(chain.input_type()),
      places_(places_of(options, chain, samples)),
      arena_("rollout", places_.bytes) {
  write_tables(std::vector<FeedbackScaling>(map_.inputs.size()));
}

void FeedbackStore::set_scaling(std::span<const FeedbackScaling> scalings) {
  if (scalings.size() != map_.inputs.size())
    fail_run(errors::internal, "{} scalings for {} channels of the input", scalings.size(),
             map_.inputs.size());
  write_tables(scalings);
}

void FeedbackStore::write_tables(std::span<const FeedbackScaling> scalings) {
  std::vector<FeedbackEntry> inputs;
  std::vector<OutputReader> outputs(static_cast<std::size_t>(map_.output_channels));
  std::vector<PreviousReaders> previous(map_.inputs.size());
  for (std::size_t c = 0; c < map_.inputs.size(); ++c) {
    const FeedbackChannel& from = map_.inputs[c];
    const auto channel = static_cast<std::int32_t>(c);
    inputs.push_back({.previous = static_cast<std::int32_t>(from.previous),
                      .output = static_cast<std::int32_t>(from.output),
                      .row = static_cast<std::int32_t>(from.row),
                      .row_step = static_cast<std::int32_t>(from.row_step),
                      .scale = scalings[c].scale,
                      .offset = scalings[c].offset,
                      .noise = from.is_state ? noise_ : 0});
    if (from.output >= 0) outputs[static_cast<std::size_t>(from.output)] = {channel, scalings[c].scale};
    if (from.previous >= 0) add_reader(previous[static_cast<std::size_t>(from.previous)], channel);
  }
  Kokkos::fence();
  copy_to(arena_.data(), inputs);
  copy_to(arena_.data() + places_.outputs, outputs);
  copy_to(arena_.data() + places_.previous, previous);
  if (!map_.counts.empty()) copy_to(arena_.data() + places_.counts, map_.counts);
}

FeedbackTables FeedbackStore::tables() const {
  return {
      reinterpret_cast<const FeedbackEntry*>(arena_.data()),
      reinterpret_cast<const OutputReader*>(arena_.data() + places_.outputs),
      reinterpret_cast<const PreviousReaders*>(arena_.data() + places_.previous),
      map_.counts.empty() ? nullptr : reinterpret_cast<const std::uint8_t*>(arena_.data() + places_.counts)};
}

Tensor FeedbackStore::input(std::int64_t copy, std::int64_t rows) const {
  if (places_.count == 0) return {};
  const auto number = static_cast<std::size_t>(copy % places_.count);
  return arena_.tensor(places_.inputs + number * places_.input_bytes, type_, rows,
                       map_.points * map_.input_channels());
}

}  // namespace mylos
