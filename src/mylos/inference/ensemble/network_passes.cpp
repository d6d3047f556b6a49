#include "mylos/inference/ensemble/network_passes.hpp"

#include "mylos/base/execution.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/inference/ensemble/member_outputs.hpp"
#include "mylos/inference/ensemble/member_sums.hpp"
#include "mylos/inference/ensemble/pass_numbers.hpp"
#include "mylos/inference/infer.hpp"

namespace mylos {
NetworkPasses::NetworkPasses(const InferenceContext& context, RankGroup& ranks, const OpenedNetwork& opened,
                             const InferenceModel& model, DataPart part, const DropoutPasses& passes)
    : context_(context), ranks_(ranks), opened_(opened), model_(model), part_(part), passes_(passes) {}

std::int64_t NetworkPasses::width() const {
  return model_.chain().outputs();
}

bool NetworkPasses::has_deviation() const {
  return passes_.count > 1 || model_.chain().has_deviations();
}

void NetworkPasses::run(const ConsumeUncertain& consume, const ConsumeMember& consume_member) {
  const Chain& chain = model_.chain();
  const std::int64_t total = opened_.data->samples(part_);
  const bool has_variances = chain.has_deviations();
  const Arena memory("predictions", float_output_bytes(chain, model_.samples()));
  const Staging staging(chain, model_.samples());
  const auto numbers = pass_numbers(passes_.count);
  const auto pass = opened_.pass_over(part_, {0, total}, model_, ranks_);
  MemberSums sums;
  UncertainBatch batch;
  MemberOutputs member;
  MicroBatch staged;
  const auto run_pass = [&](std::int64_t number) {
    member = {};
    if (batch.samples.count == 0) return;
    const StepContext step{.exec = context_.exec,
                           .engines = context_.engines,
                           .step = numbers.data() + number,
                           .first_sample = staged.first_sample,
                           .training = false,
                           .drops = passes_.drops};
    context_.model.forward(step, staged.inputs);
    read_predictions(step, context_.model,
                     memory.tensor(0, DType::fp32, batch.samples.count, chain.outputs()), member);
    sums.add(number, 0, member.values, member.deviations);
  };
  const std::int64_t rounds = rounds_of(total, model_.samples(), ranks_.size());
  for (std::int64_t round = 0; round < rounds; ++round) {
    batch = {};
    run_on_all(ranks_, [&] {
      const Batch* const read = pass->next();
      if (read == nullptr) return;
      staged = staging.stage(context_.exec, *read);
      if constexpr (!memory_is_host) context_.exec.fence("staged batch");  // the pass fills its buffer again
      batch.samples = {read->first_sample, read->samples};
      append_truth(*read, width(), batch.targets, batch.labels);
      sums.start(static_cast<std::size_t>(read->samples * width()), has_variances);
    });
    if (consume_member) {
      for (std::int64_t number = 0; number < passes_.count; ++number) {
        run_on_all(ranks_, [&] { run_pass(number); });
        consume_member(number, batch.samples, member.values);
      }
    } else {
      run_on_all(ranks_, [&] {
        for (std::int64_t number = 0; number < passes_.count; ++number) run_pass(number);
      });
    }
    batch.mean.resize(static_cast<std::size_t>(batch.samples.count * width()));
    sums.mean(0, batch.mean);
    if (has_deviation()) {
      batch.deviation.resize(batch.mean.size());
      sums.deviation(passes_.count, 0, batch.deviation);
    }
    consume(batch);
  }
  outside_ = pass->outside_range();
}

}  // namespace mylos
