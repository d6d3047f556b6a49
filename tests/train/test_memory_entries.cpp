// Every entry of a memory statement against what is allocated, by name: for options that each change one of
// them. Entries of arrays are exact; those of host buffers bound what the owner holds.
#include <gtest/gtest.h>

#include <cctype>
#include <map>
#include <string>
#include <vector>

#include "data/builders.hpp"
#include "mylos/checkpoint/write/writer.hpp"
#include "mylos/data/run/run_data.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/train/evaluation/evaluation.hpp"
#include "mylos/train/health/health_rows.hpp"
#include "mylos/train/step/staging.hpp"
#include "support/allocation_counter.hpp"
#include "train/allocations.hpp"
#include "train/constant_pass.hpp"
#include "train/memory_cases.hpp"

namespace mylos::memory_entries_test {

using namespace testing_support;  // NOLINT

constexpr std::size_t plenty = std::size_t{1} << 40;

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

class Entries : public testing::TestWithParam<MemoryCase> {
 protected:
  void SetUp() override {
    const Options& options = GetParam().options;
    if (!allows_ranks(options, options.data.micro_batch, world_.communicator->size()))
      GTEST_SKIP() << "reproducible on " << world_.communicator->size() << " ranks";
    if (shards_accumulated_gradients(options, world_.communicator->size())) GTEST_SKIP();
  }

  const AllocationsByLabel allocations_;  // those of the communicator too
  const World world_{GetParam().options};
};
INSTANTIATE_TEST_SUITE_P(Options, Entries, testing::ValuesIn(memory_cases()), [](const auto& given) {
  std::string name;
  for (const char c : given.param.name) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
});

TEST_P(Entries, OfATrainerAreWhatItAllocates) {
  const MemoryPlan plan = plan_memory(world_.problem(plenty));
  const auto trainer = world_.trainer(plan);
  std::map<std::string, std::size_t> held;
  for (const auto& [label, bytes] : AllocationsByLabel::live) held[entry_of(label)] += bytes;
  EXPECT_EQ(held["activations"], plan.arena_bytes());
  for (const std::string name :
       {"master weights", "compute weights", "gradients", "slices of gradients", "optimizer moments",
        "average of weights", "statistics, class weights", "matrices of transforms", "communication",
        "check and records", "health records", "sums of micro-batches", "rollout"}) {
    EXPECT_EQ(held[name], stated(plan.statement, name)) << name;
  }
}

TEST(EntriesOfATrainer, HaveTheGradientsOfItsInputIfTheyAreWanted) {
  for (const DType compute : {DType::fp32, DType::bf16, DType::fp16}) {
    const AllocationsByLabel allocations;
    const World world(small_options(compute));
    MemoryProblem problem = world.problem(plenty);
    EXPECT_EQ(stated(state_memory(problem), "input gradients"), 0u);
    problem.network =
        plan_network(world.options, world.communicator->rank(), world.communicator->size(), true);
    const Trainer trainer(problem.network, *world.engines, *world.communicator, 1);
    const std::size_t bytes = stated(state_memory(problem), "input gradients");
    EXPECT_GT(bytes, 0u);
    EXPECT_EQ(AllocationsByLabel::live["input gradients"], bytes);
  }
}

TEST_P(Entries, OfAnEvaluationAreWhatItAllocates) {
  const MemoryPlan plan = plan_memory(world_.problem(plenty));
  const auto trainer = world_.trainer(plan);
  TrainingModel& model = trainer->model();
  if (model.chain().rows_per_sample > 1) return;                        // its batches are tokens
  if (model.chain().head->prediction() != Prediction::classes) return;  // the pass has labels
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
  const long before = allocated_bytes();
  HealthRows rows("", std::vector<std::string>(parameters, "p"));
  for (std::uint64_t step = 1; step <= 2 * HealthRows::tail_length; ++step)
    rows.add({step, std::vector<ParameterHealth>(parameters)});
  CheckpointState state;
  rows.save(state);
  const auto held = static_cast<std::size_t>(allocated_bytes() - before);
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
                             {.kind = kinds::Conv{.kernel = {5}}, .outputs = 6});
  const auto engines = make_engines(options.kernels);
  if (engines->libraries().convolution == nullptr) GTEST_SKIP() << "no library of convolutions here";
  const std::size_t once = code(options);
  EXPECT_GT(once, 0u);
  options.model.chain[1].repeat = 3;
  EXPECT_EQ(code(options), once) << "equal shapes share their code";
  options.model.chain[1].kind = kinds::Conv{.kernel = {3}};
  EXPECT_GE(code(options), once / 2);
  options.model.chain[1] = {.kind = kinds::Conv{.kernel = {5}}, .outputs = 6};
  options.data.micro_batch = World(options).communicator->size() == 1 ? 5 : 2;
  const bool has_rest = 12 / World(options).communicator->size() % options.data.micro_batch != 0;
  EXPECT_EQ(code(options) > once, has_rest) << "a last micro-batch of other samples has code of its own";
  options.kernels.gemm = GemmChoice::tiles;
  EXPECT_EQ(code(options), 0u);
}

}  // namespace mylos::memory_entries_test
