// What looking at every parameter's health adds to a step, in kernels counted by their names.
#include <gtest/gtest.h>

#include "support/kokkos_events.hpp"
#include "train/run_on_file.hpp"

namespace mylos::health_kernels_test {

using namespace testing_support;  // NOLINT

constexpr int counted_steps = 4;

Options mlp(DType compute) {
  Options options = small_options(compute);
  options.model.norm = NormType::layernorm;
  options.data.micro_batch = 16;
  return options;
}

Options gpt(DType compute) {
  Options options = small_options(compute);
  options.model = {};
  options.model.type = ModelType::gpt;
  options.model.norm = NormType::layernorm;
  options.model.layers = 2;
  options.model.heads = 2;
  options.model.width = 32;
  options.model.context = 16;
  options.model.vocabulary = vocabulary;
  return options;
}

Events events_of_steps(Options options, std::int64_t health_every) {
  options.health.every = health_every;
  options.kernels.graphs = false;  // whose launches are not counted one by one
  RunOnFile run(options);
  run.steps(2);
  const EventCounter counter;
  run.steps(counted_steps);
  return events;
}

struct Case {
  Options (*network)(DType);
  DType compute;
  MasterWeights masters;
  long passes;  // of a step's update, on one rank: one for each type of gradients; a GPT's head keeps them in
                // float
};
class HealthKernels : public testing::TestWithParam<Case> {
 protected:
  [[nodiscard]] Options options() const {
    Options options = GetParam().network(GetParam().compute);
    options.precision.masters = GetParam().masters;
    return options;
  }
};
INSTANTIATE_TEST_SUITE_P(NetworksAndTypes, HealthKernels,
                         testing::Values(Case{mlp, DType::fp32, MasterWeights::fp32, 1},
                                         Case{mlp, DType::bf16, MasterWeights::fp32, 1},
                                         Case{mlp, DType::fp16, MasterWeights::none, 1},
                                         Case{gpt, DType::fp32, MasterWeights::fp32, 1},
                                         Case{gpt, DType::bf16, MasterWeights::fp32, 2},
                                         Case{gpt, DType::fp16, MasterWeights::fp32, 2},
                                         Case{gpt, DType::bf16, MasterWeights::none, 2}));

/// What a step of one rank launched behind its backward pass before there was any health to look at.
std::map<std::string, long> check_and_update(long passes) {
  return {{"sum_of_squares", 1},  {"add_blocks", 1}, {"state check", 1}, {"own part", 1},
          {"mylos agreement", 1}, {"decide", 1},     {"update", passes}, {"advance", 1}};
}

TEST_P(HealthKernels, AreNotThereInAStepWithoutLooks) {
  std::map<std::string, long> seen = events_of_steps(options(), 0).launches;
  EXPECT_EQ(seen.count("health"), 0u);
  if (make_communicator(MPI_COMM_WORLD, options().communication)->size() > 1) GTEST_SKIP() << "by bucket";
  for (const auto& [name, times] : check_and_update(GetParam().passes))
    EXPECT_EQ(seen[name], counted_steps * times) << name;
}

TEST_P(HealthKernels, AreOneBehindEachPassOfTheUpdateAndNothingElse) {
  const Events without = events_of_steps(options(), 0);
  const Events with = events_of_steps(options(), 1);
  std::map<std::string, long> expected = without.launches;
  expected["health"] = expected.at("update");
  EXPECT_EQ(with.launches, expected);
  EXPECT_EQ(with.fences, without.fences);
  EXPECT_EQ(with.allocations, without.allocations);
  EXPECT_EQ(with.copies_to_host, without.copies_to_host);
}

TEST_P(HealthKernels, AreInEveryStepOfARunThatLooksNowAndThen) {
  EXPECT_EQ(events_of_steps(options(), 1).launches, events_of_steps(options(), 1000).launches);
}

}  // namespace mylos::health_kernels_test
