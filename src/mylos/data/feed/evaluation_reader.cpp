#include "mylos/data/feed/evaluation_reader.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "mylos/data/feed/batch_buffer.hpp"

namespace mylos {
namespace {

/// Counts the inputs of one sample that are outside the range, of those that the mask lets count and that are
/// not missing.
OutsideRange outside(const InputRange& range, const std::vector<std::uint8_t>& mask,
                     std::span<const float> inputs, std::int64_t sample) {
  OutsideRange found;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto column = static_cast<std::int64_t>(i);
    if (range.holds(inputs[i], column) || (!mask.empty() && mask[i] == 0) || std::isnan(inputs[i])) continue;
    if (found.values++ > 0) continue;
    found.samples = 1;
    found.first_sample = sample;
    found.first_column = column;
    found.first_value = inputs[i];
  }
  return found;
}

}  // namespace

struct EvaluationReader::State {
  const SampleStore& store;
  Split split;
  Normalizer normalizer;
  Share share;
  std::int64_t capacity;
  BatchBuffer buffer;
  std::vector<std::uint8_t> mask;  // of the inputs
  std::vector<std::byte> inputs;
  std::vector<std::byte> truth;
  std::int64_t position = 0;  // samples of the share that have been read
  Batch batch;
  bool counts_outside;
  GridPart part;
  bool whole_truth;
  OutsideRange outside_range;
  std::vector<std::int64_t> outside_samples;  // of boxes

  State(const SampleStore& samples, Split chosen, const Normalizer& normalise,
        const EvaluationOptions& options)
      : store(samples),
        split(chosen),
        normalizer(normalise),
        share(options.share(chosen.count)),
        capacity(std::min(share.count, options.max_samples)),
        buffer(samples.shape(), options.type, capacity, options.keeps_missing),
        mask(samples.mask().inputs),
        inputs(static_cast<std::size_t>(capacity * samples.shape().input_bytes())),
        truth(static_cast<std::size_t>(capacity * samples.shape().truth_bytes())),
        counts_outside(options.counts_outside && normalise.input_range.known() &&
                       samples.shape().input_type == DType::fp32),
        part(options.part),
        whole_truth(options.whole_truth) {}
};

EvaluationReader::EvaluationReader(const SampleStore& store, Split split, const Normalizer& normalizer,
                                   const EvaluationOptions& options)
    : state_(std::make_unique<State>(store, split, normalizer, options)) {}

EvaluationReader::~EvaluationReader() = default;

Share EvaluationReader::share() const {
  return state_->share;
}

GridPart EvaluationReader::part() const {
  return state_->part;
}

bool EvaluationReader::shares_truth() const {
  return state_->part.is_split() && state_->whole_truth;
}

const Batch* EvaluationReader::next() {
  State& state = *state_;
  const std::int64_t count = std::min(state.capacity, state.share.count - state.position);
  if (count == 0) return nullptr;
  const std::int64_t first_sample = state.share.first + state.position;
  const std::int64_t first = state.split.first + first_sample;
  const DatasetShape& shape = state.store.shape();
  state.store.read_inputs(first, count, state.inputs.data());
  state.store.read_truth(first, count, state.truth.data());
  for (std::int64_t i = 0; i < count; ++i) {
    const Sample sample{state.inputs.data() + i * shape.input_bytes(),
                        state.truth.data() + i * shape.truth_bytes(), first + i};
    state.buffer.put(i, sample, state.store, state.normalizer);
    if (!state.counts_outside) continue;
    const std::span inputs(reinterpret_cast<const float*>(sample.input),
                           static_cast<std::size_t>(shape.features));
    const OutsideRange found = outside(state.normalizer.input_range, state.mask, inputs, first + i);
    state.outside_range.add(found);
    if (found.samples > 0 && state.part.is_split()) state.outside_samples.push_back(first_sample + i);
  }
  state.position += count;
  state.batch = state.buffer.batch(count, first_sample, 0);
  return &state.batch;
}

void EvaluationReader::rewind() {
  state_->position = 0;
  state_->outside_range = {};
  state_->outside_samples.clear();
}

OutsideRange EvaluationReader::outside_range() const {
  return state_->outside_range;
}

std::span<const std::int64_t> EvaluationReader::outside_samples() const {
  return state_->outside_samples;
}

std::int64_t EvaluationReader::memory_bytes(const DatasetShape& shape, Split split,
                                            const EvaluationOptions& options) {
  const std::int64_t share = options.share(split.count).count;
  const std::int64_t samples = std::min(share, options.max_samples);
  return samples * (shape.input_bytes() + shape.truth_bytes()) +
         BatchBuffer::memory_bytes(shape, options.type, samples);
}

}  // namespace mylos
