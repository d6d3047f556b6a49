// The checkpoint of what a run begins with, against the trainer of the same options.
#include "mylos/train/run/initial_checkpoint.hpp"

#include <gtest/gtest.h>

#include "checkpoint/checkpoint_builders.hpp"
#include "mylos/checkpoint/file/weight_file.hpp"
#include "train/synthetic.hpp"

namespace mylos::initial_checkpoint_test {

using namespace testing_support;  // NOLINT

TEST(InitialCheckpoint, HoldsTheMastersOfATrainerBeforeItsFirstStep) {
  RankGroup ranks(MPI_COMM_WORLD, 30);
  const test::SharedFolder folder(ranks);
  for (const Shard shard : {Shard::none, Shard::state, Shard::gradients}) {
    for (const MasterWeights masters : {MasterWeights::fp32, MasterWeights::none}) {
      Options options = small_options(DType::bf16);
      options.run.folder = folder.path() + "/run";
      options.optimizer.shard = shard;
      options.precision.masters = masters;
      options.model.initialize = {{.match = {"hidden2/weight"}, .kind = Initializer::orthogonal}};
      const Deck deck = read_deck(resolve(options), "deck.toml", {});
      const std::string path = folder.path() + "/start.h5";
      const SmallRun run(options);
      EXPECT_EQ(write_initial_checkpoint(deck, MPI_COMM_WORLD, path, {}),
                run.trainer->model().chain().parameter_count());
      WeightFile file(ranks, path);
      EXPECT_EQ(file.kind(), "checkpoint of step 0");
      const ParameterStore& parameters = run.trainer->model().parameters();
      const std::vector<ParameterSlot>& slots = parameters.layout().slots;
      ASSERT_EQ(file.entries().size(), slots.size());
      for (const WeightEntry& entry : file.entries()) {
        std::vector<float> stored(static_cast<std::size_t>(entry.size()));
        file.read(entry, 0, stored);
        for (std::size_t i = 0; i < slots.size(); ++i) {
          const HeldPart held = parameters.held_master(i);
          if (slots[i].path() != entry.name || held.values.empty()) continue;
          const std::vector<float> values = test::values_of(held.values);
          for (std::size_t k = 0; k < values.size(); ++k)
            ASSERT_EQ(stored[static_cast<std::size_t>(held.first) + k], values[k]) << entry.name;
        }
      }
    }
  }
}

}  // namespace mylos::initial_checkpoint_test
