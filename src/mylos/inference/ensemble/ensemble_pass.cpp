#include "mylos/inference/ensemble/ensemble_pass.hpp"

#include <algorithm>
#include <optional>

#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/inference/ensemble/ensemble_meaning.hpp"
#include "mylos/inference/ensemble/member_outputs.hpp"
#include "mylos/inference/ensemble/member_sums.hpp"
#include "mylos/inference/infer.hpp"

namespace mylos {
namespace {

void require_each_once(const std::vector<EnsembleMember>& members) {
  if (members.size() < 2)
    fail_input(errors::missing_argument, "an ensemble has at least 2 members, but {} is given",
               members.size());
  std::vector<std::string> paths;
  for (const EnsembleMember& member : members) paths.push_back(member.path);
  if (const auto repeated = repeated_file(paths)) {
    fail_input(errors::arguments_conflict, "{}: is given twice; each member of an ensemble counts once",
               paths[*repeated]);
  }
}

/// Decks may name other files, or hold out other samples of them.
void require_same_samples(const OpenedNetwork& first, const OpenedNetwork& other, DataPart part) {
  const DataOptions& expected = first.network.options.data;
  const DataOptions& given = other.network.options.data;
  const bool are_same = part == DataPart::test ? expected.test.names == given.test.names
                                               : expected.train.names == given.train.names &&
                                                     expected.validation == given.validation;
  if (are_same && first.data->samples(part) == other.data->samples(part)) return;
  fail_input(
      errors::data_mismatch,
      "{}: its deck names other {} samples than that of {}, whose predictions are averaged with its own; "
      "name a file by --data",
      other.network.path, name_of(part), first.network.path);
}

}  // namespace

void require_ensemble(RankGroup& ranks, const std::vector<EnsembleMember>& members) {
  run_on_all(ranks, [&] { require_each_once(members); });
  std::optional<StoredNetwork> first;
  for (const EnsembleMember& member : members) {
    const CheckpointReader reader(ranks, member.path, ReadableKinds::all);
    StoredNetwork network = read_unsized_network(reader);
    run_on_all(ranks, [&] {
      if (first) require_same_meaning(*first, network);
    });
    if (!first) first = std::move(network);
  }
}

/// Consecutive samples, of which this rank has `own`.
struct EnsemblePass::Block {
  Share all;
  Share own;
  std::int64_t rounds = 0;
  MemberSums sums;
  std::vector<float> targets;
  std::vector<std::int32_t> labels;
};

EnsemblePass::EnsemblePass(const Execution& exec, const Engines& engines, RankGroup& ranks,
                           std::vector<EnsembleMember> members, const OpenedNetwork& first,
                           const NetworkData& data, DataPart part, std::size_t sum_bytes)
    : exec_(exec),
      engines_(engines),
      ranks_(ranks),
      members_(std::move(members)),
      first_(first),
      data_(data),
      part_(part),
      sum_bytes_(sum_bytes),
      piece_(samples_per_piece(first.network.chain, engines_, first.data->samples(part))) {}

std::int64_t EnsemblePass::width() const {
  return first_.network.chain.outputs();
}

void EnsemblePass::run(const ConsumeUncertain& consume, const ConsumeMember& consume_member) {
  const std::int64_t total = first_.data->samples(part_);
  const bool has_variances = first_.network.chain.has_deviations();
  const std::size_t of_number = MemberSums::bytes_of_number(has_variances) + sizeof(float);  // and its target
  const std::size_t of_piece = of_number * static_cast<std::size_t>(piece_ * width());
  const auto pieces = std::max<std::int64_t>(1, static_cast<std::int64_t>(sum_bytes_ / of_piece));
  const std::int64_t in_block = piece_ * pieces * ranks_.size();
  const auto per_sample = static_cast<std::size_t>(width());
  outside_ = {};
  Block block;
  for (std::int64_t first = 0; first < total; first += in_block) {
    block.all = {first, std::min(in_block, total - first)};
    block.rounds = rounds_of(block.all.count, piece_, ranks_.size());
    block.targets.clear();
    block.labels.clear();
    for (std::int64_t number = 0; number < members(); ++number) run_member(number, block, consume_member);
    for (std::int64_t round = 0; round < block.rounds; ++round) {
      const std::int64_t done = std::min(round * piece_, block.own.count);
      UncertainBatch batch;
      batch.samples = {block.own.first + done, std::min(piece_, block.own.count - done)};
      const auto from = static_cast<std::size_t>(done) * per_sample;
      batch.mean.resize(static_cast<std::size_t>(batch.samples.count) * per_sample);
      batch.deviation.resize(batch.mean.size());
      block.sums.mean(from, batch.mean);
      block.sums.deviation(members(), from, batch.deviation);
      if (!block.targets.empty()) {
        const auto begin = block.targets.begin() + static_cast<std::ptrdiff_t>(from);
        batch.targets.assign(begin, begin + static_cast<std::ptrdiff_t>(batch.mean.size()));
      }
      if (!block.labels.empty()) {
        const auto begin = block.labels.begin() + done;
        batch.labels.assign(begin, begin + batch.samples.count);
      }
      consume(batch);
    }
  }
}

/// Adds the predictions of a member for the samples of a block.
void EnsemblePass::run_member(std::int64_t number, Block& block, const ConsumeMember& consume_member) {
  const EnsembleMember& member = members_[static_cast<std::size_t>(number)];
  const CheckpointReader reader(ranks_, member.path, ReadableKinds::all);
  const OpenedNetwork opened = open_network(reader, data_);
  run_on_all(ranks_, [&] { require_same_samples(first_, opened, part_); });
  const auto model = load_model(reader, opened, engines_, member.average, piece_);
  const InferenceContext context(exec_, engines_, model->passes(), opened.network.known_classes());
  const Arena memory("predictions", float_output_bytes(model->chain(), piece_));
  const Staging staging(model->chain(), piece_);
  const auto pass = opened.pass_over(part_, block.all, *model, ranks_);
  const auto per_sample = static_cast<std::size_t>(width());
  MemberOutputs predicted;
  Share samples;
  const auto take = [&](const StepContext& step, const MicroBatch&, const Batch& batch) {
    samples = {batch.first_sample, batch.samples};
    read_predictions(step, context.model,
                     memory.tensor(0, DType::fp32, batch.samples, model->chain().outputs()), predicted);
    if (number == 0) append_truth(batch, width(), block.targets, block.labels);
    const std::int64_t first_row = batch.first_sample - block.own.first;
    block.sums.add(number, static_cast<std::size_t>(first_row) * per_sample, predicted.values,
                   predicted.deviations);
  };
  if (number == 0) {
    block.own = pass->share();
    run_on_all(ranks_, [&] {
      block.sums.start(static_cast<std::size_t>(block.own.count) * per_sample,
                       first_.network.chain.has_deviations());
    });
  }
  for (std::int64_t round = 0; round < block.rounds; ++round) {
    samples = {};
    predicted = {};
    run_on_all(ranks_, [&] { run_next_batch(context, staging, *pass, take); });
    if (consume_member) consume_member(number, samples, predicted.values);
  }
  if (number == 0) outside_.add(pass->outside_range());
}

}  // namespace mylos
