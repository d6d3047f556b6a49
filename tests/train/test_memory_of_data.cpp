// What a statement says of data and evaluations, by their own sizes: tokens, rollouts, columns, checkpoints.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "data/arrays/array_builders.hpp"
#include "data/builders.hpp"
#include "data/token_builders.hpp"
#include "mylos/base/errors/memory.hpp"
#include "mylos/checkpoint/write/state_copy.hpp"
#include "mylos/data/run/run_data.hpp"
#include "mylos/inference/infer.hpp"
#include "mylos/train/start/run_state.hpp"
#include "support/allocation_counter.hpp"
#include "support/said.hpp"
#include "train/memory_world.hpp"

namespace mylos::memory_of_data_test {

using namespace testing_support;  // NOLINT

constexpr std::size_t plenty = std::size_t{1} << 40;
constexpr std::size_t mebibyte = std::size_t{1} << 20;

std::size_t stated(const MemoryStatement& statement, const std::string& name) {
  for (const MemoryEntry& entry : statement.entries)
    if (entry.name == name) return entry.bytes;
  ADD_FAILURE() << "no entry " << name;
  return 0;
}

TEST(MemoryOfData, ThatAreNotHereIsOfAllRowsOfASample) {
  const World world(small_gpt(DType::bf16));
  const MemoryProblem problem = world.problem(plenty);
  const std::int64_t window = world.options.model.context * 2 * 4;  // tokens and labels, in 4 bytes
  EXPECT_EQ(stated(state_memory(problem), "training data"),
            static_cast<std::size_t>(4 * problem.network.step.micro_batch * window));
}

/// A transformer with 2 MB of tokens in its file.
struct WithTokens {
  TemporaryFolder folder;
  Options options = small_gpt(DType::bf16);
  std::unique_ptr<RunData> data;

  WithTokens() {
    options.data.train =
        write_tokens(folder / "train.h5", std::vector<std::uint16_t>(std::size_t{1} << 20, 7), 96);
    data = open_run_data(options);
  }
  [[nodiscard]] MemoryProblem problem(const World& world, std::size_t budget) const {
    MemoryProblem problem = world.problem(budget);
    problem.data = data.get();
    return problem;
  }
};

TEST(MemoryOfData, TokensAreHeldWhereTheyTakeAnEighthOfTheBudget) {
  if constexpr (!memory_is_host) GTEST_SKIP() << "a device's budget has no share for the host";
  const WithTokens with;
  const World world(with.options);
  const auto data_bytes = [&](std::size_t budget) {
    const MemoryStatement statement = state_memory(with.problem(world, budget));
    EXPECT_EQ(statement.token_bytes, static_cast<std::int64_t>(budget / 8));
    return stated(statement, "training data");
  };
  EXPECT_GE(data_bytes(16 * mebibyte), 2 * mebibyte);
  EXPECT_LT(data_bytes(16 * mebibyte - 8), mebibyte);
}

/// With the budget that the refusal names, more tokens may be held than with the one that was refused.
TEST(MemoryOfData, TheBudgetThatARefusalNamesIsEnoughForTheTokensItAllows) {
  if constexpr (!memory_is_host) GTEST_SKIP() << "a device's budget has no share for the host";
  const WithTokens with;
  const World world(with.options);
  const std::string message = test::refusal_of(
      [&] { static_cast<void>(plan_memory(with.problem(world, mebibyte))); }, ExitCode::does_not_fit);
  const std::string before = "would do is memory.budget = \"";
  const auto found = message.find(before);
  ASSERT_NE(found, std::string::npos) << message;
  const auto named = static_cast<std::size_t>(std::atoll(message.c_str() + found + before.size()));
  EXPECT_NO_THROW(static_cast<void>(plan_memory(with.problem(world, named * mebibyte))));
  EXPECT_GE(stated(state_memory(with.problem(world, named * mebibyte)), "training data"), 2 * mebibyte);
}

/// Two windows of blocks take some 256 MiB. Nobody reads the samples, which the file need not have written.
TEST(MemoryOfData, ARefusalForManySamplesNamesTheOrderThatHoldsAPartOfThem) {
  if constexpr (!memory_is_host) GTEST_SKIP() << "a device's budget has no samples";
  const TemporaryFolder folder;
  constexpr std::int64_t samples = 2'000'000, columns = 250;
  auto file = hdf5::File::create(folder / "train.h5");
  static_cast<void>(file.create_dataset("/inputs", DType::uint8, {samples, columns}));
  static_cast<void>(file.create_dataset("/labels", DType::int32, {samples}));
  file.write_attribute("/", "classes", classes);
  file.close();
  Options options = small_options(DType::fp32);
  options.data.train = folder / "train.h5";
  const World world(options);
  const auto plan_of = [&](Shuffle shuffle) {
    options.data.shuffle = shuffle;
    const auto data = open_run_data(options);
    MemoryProblem problem = world.problem(400 * mebibyte);
    problem.data = data.get();
    static_cast<void>(plan_memory(problem));
  };
  EXPECT_TRUE(test::says(test::refusal_of([&] { plan_of(Shuffle::samples); }, ExitCode::does_not_fit),
                         errors::does_not_fit, {"data.shuffle = \"blocks\" would fit"}));
  EXPECT_NO_THROW(plan_of(Shuffle::blocks));
}

/// Readers and the checkpoint's copy have one each.
TEST(MemoryOfData, OfManyColumnsHasTheirScaling) {
  const TemporaryFolder folder;
  Options options = small_options(DType::fp32);
  constexpr std::int64_t columns = 100'000;
  options.data.train = write_images(folder / "train.h5", 20, columns, classes);
  options.data.normalize = Normalize::standard;
  options.data.batch = 4;
  options.model.inputs = columns;
  options.model.hidden = {4};
  const World world(options);
  const auto data = open_run_data(options);
  const Normalizer normalizer = data->normalizer([](const std::string&) {});
  MemoryProblem problem = world.problem(plenty);
  problem.data = data.get();
  const MemoryPlan plan = plan_memory(problem);
  const TrainingReader reader{.type = problem.network.chain.input_type(), .token_bytes = 0};
  const long before = peak_bytes_from_now();
  const auto batches = data->training_batches(normalizer, reader);
  EXPECT_LE(static_cast<std::size_t>(peak_bytes() - before), stated(plan.statement, "training data") + 65536);

  const auto trainer = std::make_unique<Trainer>(world.network(), *world.engines, *world.communicator,
                                                 options.run.steps, plan.plan.schedule);
  RunState run;
  run.data.normalizer = normalizer;
  EXPECT_LE(StateCopy::memory_bytes(full_state(trainer->quiesce(), *trainer, run)), plan.checkpoint_copy);
}

TEST(MemoryOfData, RolloutsOfEvaluationsTakeAPieceOfTheNetwork) {
  if (!python_has("h5py")) GTEST_SKIP() << "this machine's /usr/bin/python3 has no h5py";
  const TemporaryFolder folder;
  Options options = small_options(DType::bf16);
  options.model = {};
  options.model.type = ModelType::chain;
  options.model.loss = losses::Mse{};
  options.model.chain = {{.kind = kinds::Conv{.kernel = {3}, .padding = {1}}, .outputs = 1}};
  options.data.train = write_arrays(folder / "train.h5", "f['u'] = code(40, 4, 5)");
  options.data.test = write_arrays(folder / "test.h5", "f['u'] = code(12, 4, 5)");
  options.data.arrays = one_array("/u", {"time", "y", "x"});
  options.data.batch = 8;
  const auto data = open_run_data(options);
  complete(options, *data);
  const auto statement = [&] {
    const World world(options);
    MemoryProblem problem = world.problem(plenty);
    problem.data = data.get();
    return state_memory(problem);
  };
  const MemoryStatement without = statement();
  options.run.rollout_steps = 3;
  const MemoryStatement with = statement();
  const World world(options);
  const NetworkPlan network = world.network();
  EXPECT_EQ(stated(with, "fields of evaluations on the device") -
                stated(without, "fields of evaluations on the device"),
            RowInference::memory_bytes(network.chain, network.step.micro_batch));
  EXPECT_GT(stated(with, "fields of evaluations"), stated(without, "fields of evaluations"));
}

/// Of the running statistics of batch normalisation too.
TEST(MemoryOfData, TheBytesOfACheckpointAreThoseOfWeightsMomentsAndStatistics) {
  constexpr std::int64_t channels = 6;
  Options options = small_options(DType::fp32);
  options.model = {};
  options.model.type = ModelType::chain;
  options.model.shape = {2, 2, 3};
  options.model.inputs = features;
  options.model.outputs = classes;
  options.model.chain = {
      {.kind = kinds::Conv{.kernel = {3}}, .outputs = channels, .norm = NormType::batchnorm},
      {.kind = kinds::Dense{}}};
  const World world(options);
  const MemoryStatement statement = state_memory(world.problem(plenty));
  const std::int64_t floats = 3 * statement.parameters + 2 * channels;  // with AdamW, mean and variance
  EXPECT_EQ(statement.checkpoint_bytes, floats * static_cast<std::int64_t>(sizeof(float)));
}

}  // namespace mylos::memory_of_data_test
