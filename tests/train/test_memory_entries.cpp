// Every entry of a memory statement against what is allocated, by name: for options that each change one of
// them. Entries of arrays are exact; those of host buffers bound what the owner holds.
#include <gtest/gtest.h>

#include <cctype>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "data/builders.hpp"
#include "model/reference_rollout.hpp"
#include "mylos/checkpoint/write/writer.hpp"
#include "mylos/data/run/run_data.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/train/evaluation/evaluation.hpp"
#include "mylos/train/health/health_rows.hpp"
#include "mylos/train/step/staging.hpp"
#include "support/allocation_counter.hpp"
#include "train/allocations.hpp"
#include "train/constant_pass.hpp"
#include "train/memory_world.hpp"

namespace mylos::memory_entries_test {

using namespace testing_support;  // NOLINT

constexpr std::size_t plenty = std::size_t{1} << 40;

struct Case {
  std::string name;
  Options options;
};

Case with(const std::string& name, Options options, const std::function<void(Options&)>& change) {
  change(options);
  return {name, std::move(options)};
}

Options small_grid(DType compute) {
  Options options = small_options(compute);
  options.model = {};
  options.model.type = ModelType::chain;
  options.model.shape = {2, 2, 3};
  options.model.inputs = features;
  options.model.outputs = classes;
  options.model.chain = {{.kind = LayerKind::conv, .outputs = 6, .kernel = {3}, .norm = NormType::batchnorm},
                         {.kind = LayerKind::dense}};
  return options;
}

Options small_waves(DType compute) {
  Options options = small_grid(compute);
  options.model.chain = {{.kind = LayerKind::spectral, .outputs = 6, .modes = {2}},
                         {.kind = LayerKind::spectral, .outputs = 2, .modes = {2, 1}},
                         {.kind = LayerKind::dense}};
  return options;
}

Options rolled_out(const test::RolloutCase& of) {
  Options options = small_options(of.compute);
  options.model = test::rollout_model(of);
  options.rollout = test::rollout_options(of);
  return options;
}

std::vector<Case> cases() {
  const Options mlp = small_options(DType::bf16);
  const Options gpt = small_gpt(DType::bf16);
  const auto none = [](Options&) {};
  return {
      with("float", small_options(DType::fp32), none),
      with("bfloat16", mlp, none),
      with("half", small_options(DType::fp16), none),
      with("no masters", mlp, [](Options& o) { o.precision.masters = MasterWeights::none; }),
      with("micro-batches", mlp, [](Options& o) { o.data.micro_batch = 4; }),
      with("reproducible", mlp,
           [](Options& o) {
             o.run.reproducible = true;
             o.data.micro_batch = 4;
           }),
      with("reproducible lamb", mlp,
           [](Options& o) {
             o.run.reproducible = true;
             o.data.micro_batch = 4;
             o.optimizer.type = OptimizerType::lamb;
           }),
      with("lamb", mlp, [](Options& o) { o.optimizer.type = OptimizerType::lamb; }),
      with("sgd", mlp, [](Options& o) { o.optimizer.type = OptimizerType::sgd; }),
      with("average", mlp, [](Options& o) { o.optimizer.average = 0.99; }),
      with("health", mlp, [](Options& o) { o.health.every = 1; }),
      with("class weights", mlp, [](Options& o) { o.model.class_weights.assign(classes, 0.5); }),
      with("statistics", small_grid(DType::bf16), none),
      with("transforms", small_waves(DType::bf16), none),
      with("sharded state", mlp, [](Options& o) { o.optimizer.shard = Shard::state; }),
      with("sharded gradients", gpt,
           [](Options& o) {
             o.model.layers = 8;
             o.communication.bucket_bytes = 4096;
             o.optimizer.shard = Shard::gradients;
           }),
      with("gpt", gpt, none),
      with("float head", gpt,
           [](Options& o) {
             o.precision.rules = {{"head", DType::fp32}};
           }),
      with("small buckets", mlp, [](Options& o) { o.communication.bucket_bytes = 64; }),
      with("confusion", mlp,
           [](Options& o) {
             o.run.metrics = {Measure::top5, Measure::confusion};
           }),
      with("many classes", mlp,
           [](Options& o) {
             o.model.outputs = 300;
             o.run.metrics = {Measure::confusion};
           }),
      with("rollout", rolled_out({.convolves = true, .steps = 3, .noise = 0.1, .compute = DType::bf16}),
           none),
      with("detached rollout", rolled_out({.steps = 4, .detach = true}), none),
      with("growing rollout", rolled_out({.steps = 4, .is_difference = true, .grow_every = 7}), none),
      with("several", gpt,
           [](Options& o) {
             o.optimizer.average = 0.9;
             o.optimizer.shard = Shard::state;
             o.health.every = 2;
             o.data.micro_batch = 4;
             o.memory.recompute = RecomputeMode::all;
           }),
  };
}

/// Under which entry a trainer's array is stated.
std::string entry_of(const std::string& label) {
  static const std::map<std::string, std::string> own = {{"buffers", "statistics, class weights"},
                                                         {"class weights", "statistics, class weights"},
                                                         {"matrices of transforms", "matrices of transforms"},
                                                         {"health records", "health records"},
                                                         {"health blocks", "health records"},
                                                         {"sums of micro-batches", "sums of micro-batches"},
                                                         {"losses of micro-batches", "sums of micro-batches"},
                                                         {"communication staging", "communication"},
                                                         {"gradients on the wire", "communication"},
                                                         {"rollout", "rollout"},
                                                         {"staged batch", "staged batches"},
                                                         {"activations", "activations"},
                                                         {"master weights", "master weights"},
                                                         {"compute weights", "compute weights"},
                                                         {"gradients", "gradients"},
                                                         {"slices of gradients", "slices of gradients"},
                                                         {"average of weights", "average of weights"}};
  if (label.starts_with("moment ")) return "optimizer moments";
  const auto found = own.find(label);
  return found == own.end() ? "check and records" : found->second;
}

std::size_t stated(const MemoryStatement& statement, const std::string& name) {
  for (const MemoryEntry& entry : statement.entries) {
    if (entry.name == name) return entry.bytes;
  }
  ADD_FAILURE() << "no entry " << name;
  return 0;
}

class Entries : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const Options& options = GetParam().options;
    if (!allows_ranks(options, options.data.micro_batch, world_.communicator->size()))
      GTEST_SKIP() << "reproducible on " << world_.communicator->size() << " ranks";
    if (cuts_gradients_too_early(options, world_.communicator->size())) GTEST_SKIP();
  }

  const AllocationsByLabel allocations_;  // those of the communicator too
  const World world_{GetParam().options};
};
INSTANTIATE_TEST_SUITE_P(Options, Entries, testing::ValuesIn(cases()), [](const auto& given) {
  std::string name;
  for (const char c : given.param.name) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
});

TEST_P(Entries, OfATrainerAreWhatItAllocates) {
  const MemoryPlan plan = plan_memory(world_.problem(plenty));
  const auto trainer = world_.trainer(plan);
  std::map<std::string, std::size_t> held;
  for (const auto& [label, bytes] : AllocationsByLabel::held) held[entry_of(label)] += bytes;
  EXPECT_EQ(held["activations"], plan.arena_bytes());
  for (const std::string name :
       {"master weights", "compute weights", "gradients", "slices of gradients", "optimizer moments",
        "average of weights", "statistics, class weights", "matrices of transforms", "communication",
        "check and records", "health records", "sums of micro-batches", "rollout"}) {
    EXPECT_EQ(held[name], stated(plan.statement, name)) << name;
  }
}

TEST_P(Entries, OfAnEvaluationAreWhatItAllocates) {
  const MemoryPlan plan = plan_memory(world_.problem(plenty));
  const auto trainer = world_.trainer(plan);
  TrainingModel& model = trainer->model();
  if (model.chain().rows_per_sample > 1) return;                // its batches are tokens
  if (model.chain().loss() != LossType::cross_entropy) return;  // the pass has labels
  const std::vector<Measure>& metrics = GetParam().options.run.metrics;
  ConstantPass pass(model.samples(), model.chain().input_type());
  const auto evaluate_pass = [&] {
    return evaluate(trainer->quiesce(), {trainer->execution(), *world_.engines, model}, *world_.communicator,
                    pass, metrics);
  };
  static_cast<void>(evaluate_pass());  // libraries take memory of their own at their first use
  const AllocationsByLabel of_evaluation;
  const long before = peak_bytes_from_now();
  const Evaluation found = evaluate_pass();
  const auto host = static_cast<std::size_t>(peak_bytes() - before);
  const std::size_t arrays = metrics.empty() && memory_is_host ? 0 : AllocationsByLabel::peak();
  EXPECT_EQ(stated(plan.statement, "evaluation on the device"), arrays);
  const std::size_t measures = stated(plan.statement, "measures of evaluations");
  EXPECT_EQ(measures > 0, !metrics.empty());
  // Of messages and lines, and of what ranks exchange at a time.
  const std::size_t small_change =
      16384 + (world_.communicator->size() > 1 ? 32768 * sizeof(std::int64_t) : 0);
  if constexpr (memory_is_host) {  // a device's libraries take memory of the host at their first use
    EXPECT_LE(host, measures + small_change);
  }
  EXPECT_GE(host + small_change, measures);
  EXPECT_GT(found.count, 0);
}

TEST_P(Entries, OfHealthRowsAreWhatTheTailTakes) {
  const MemoryPlan plan = plan_memory(world_.problem(plenty));
  const std::size_t bytes = stated(plan.statement, "rows of health.csv");
  EXPECT_EQ(bytes > 0, GetParam().options.health.every > 0);
  if (bytes == 0) return;
  const auto trainer = world_.trainer(plan);
  const std::size_t parameters = trainer->model().parameters().layout().slots.size();
  const long before = held_bytes();
  HealthRows rows("", std::vector<std::string>(parameters, "p"));
  for (std::uint64_t step = 1; step <= 2 * HealthRows::tail_length; ++step)
    rows.add({step, std::vector<ParameterHealth>(parameters)});
  CheckpointState state;
  rows.save(state);
  const auto held = static_cast<std::size_t>(held_bytes() - before);
  EXPECT_GE(held, bytes * 9 / 10);
  EXPECT_LE(held, bytes * 3 / 2 + 65536) << "vectors that grow have room for more";
}

TEST_P(Entries, OfAllPassesAreTheArenaOfAModelThatOnlyEvaluates) {
  const MemoryStatement statement = plan_memory(world_.problem(plenty)).statement;
  const NetworkPlan network = world_.network();
  const TrainingModel model(network.chain, *world_.engines, network.step.micro_batch, 1 << 20, 1, Schedule{});
  EXPECT_EQ(model.activation_bytes(), statement.evaluation_bytes);
  EXPECT_GT(statement.evaluation_bytes, 0u);
}

/// Of the host's buffers, by the kinds of readers.
TEST(EntriesOfData, AreWhatReadersTakeAndWhatCheckpointsAreWrittenBy) {
  const TemporaryFolder folder;
  Options options = small_options(DType::bf16);
  options.data.train = write_images(folder / "train.h5", 4000, features, classes);
  options.data.test = write_images(folder / "test.h5", 3000, features, classes);
  options.data.batch = 1024;
  const World world(options);
  const auto data = open_run_data(options);
  MemoryProblem problem = world.problem(plenty);
  const MemoryStatement without = state_memory(problem);
  problem.data = data.get();
  const MemoryStatement statement = state_memory(problem);
  const NetworkPlan& network = problem.network;
  const Chain& chain = network.chain;
  const std::int64_t row = features * static_cast<std::int64_t>(size_of(chain.input_type())) + 4;
  EXPECT_GE(stated(without, "training data"), static_cast<std::size_t>(network.step.micro_batch * row));
  EXPECT_EQ(stated(without, "evaluation data"), 0u);

  const Normalizer normalizer = data->normalizer([](const std::string&) {});
  const TrainingReader reader{.type = chain.input_type(),
                              .micro_batch = options.data.micro_batch,
                              .rank = world.communicator->rank(),
                              .ranks = world.communicator->size()};
  TrainingReader of_largest_share = reader;  // as the statement
  of_largest_share.rank = 0;
  EXPECT_EQ(stated(statement, "training data"),
            static_cast<std::size_t>(data->reader_bytes(of_largest_share)));
  constexpr std::size_t small_change = 65536;
  const AllocationsByLabel allocations;
  long before = peak_bytes_from_now();
  const auto batches = data->training_batches(normalizer, reader);
  for (int i = 0; i < 6; ++i) EXPECT_GT(batches->next().samples, 0);
  std::size_t taken = static_cast<std::size_t>(peak_bytes() - before) + AllocationsByLabel::peak();
  EXPECT_LE(taken, stated(statement, "training data") + small_change);
  EXPECT_GE(taken, stated(without, "training data") / 4);

  // A statement is that of the largest share.
  const EvaluationOptions passes{chain.input_type(), network.step.micro_batch, 0, world.communicator->size()};
  EXPECT_EQ(stated(statement, "evaluation data"),
            static_cast<std::size_t>(data->pass_bytes(DataPart::test, passes)));
  EXPECT_GE(stated(statement, "evaluation data"), static_cast<std::size_t>(network.step.micro_batch * row));

  EXPECT_EQ(stated(statement, "checkpoint writing"), checkpoint_buffer_bytes());
  EXPECT_GT(stated(statement, "checkpoint writing"), 0u);
}

TEST(EntriesOfConvolutions, HaveTheCodeOfEachShapeAndNumberOfSamplesOnce) {
  if constexpr (!memory_is_host) GTEST_SKIP() << "a device's code is in the device's memory, and not planned";
  const auto code = [](const Options& options) {
    return stated(state_memory(World(options).problem(plenty)), "code of convolutions");
  };
  Options options = small_grid(DType::fp32);
  options.model.shape = {16, 16, 3};
  options.model.inputs = 16 * 16 * 3;
  options.data.batch = 12;
  options.model.chain.insert(options.model.chain.begin() + 1,
                             {.kind = LayerKind::conv, .outputs = 6, .kernel = {5}});
  const auto engines = make_engines(options.kernels);
  if (engines->libraries().convolution == nullptr) GTEST_SKIP() << "no library of convolutions here";
  const std::size_t once = code(options);
  EXPECT_GT(once, 0u);
  options.model.chain[1].repeat = 3;
  EXPECT_EQ(code(options), once) << "equal shapes share their code";
  options.model.chain[1].kernel = {3};
  EXPECT_GE(code(options), once / 2);
  options.model.chain[1] = {.kind = LayerKind::conv, .outputs = 6, .kernel = {5}};
  options.data.micro_batch = World(options).communicator->size() == 1 ? 5 : 2;
  const bool has_rest = 12 / World(options).communicator->size() % options.data.micro_batch != 0;
  EXPECT_EQ(code(options) > once, has_rest) << "a last micro-batch of other samples has code of its own";
  options.kernels.gemm = GemmChoice::tiles;
  EXPECT_EQ(code(options), 0u);
}

}  // namespace mylos::memory_entries_test
