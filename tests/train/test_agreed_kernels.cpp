// All ranks compute by the same instructions.
#include "mylos/train/step/agreed_kernels.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/base/instructions.hpp"
#include "support/refusal.hpp"

namespace mylos::agreed_kernels_test {

/// Ends a test with the instructions that it began with.
struct InstructionsOfTheTest {
  Instructions before = instructions_in_use();
  ~InstructionsOfTheTest() { use_instructions(before); }
};

TEST(AgreedKernels, AreWhatTheDeckSaysWhereRanksAreAlike) {
  RankGroup ranks(MPI_COMM_WORLD, 30);
  EXPECT_EQ(agreed_kernels({}, ranks), KernelOptions{});
  const KernelOptions wanted{.gemm = GemmChoice::tiles, .instructions = available_instructions().front()};
  EXPECT_EQ(agreed_kernels(wanted, ranks), wanted);
}

TEST(AgreedKernels, AreTheBestThatEveryRankHas) {
  RankGroup ranks(MPI_COMM_WORLD, 30);
  const std::vector<Instructions> here = available_instructions();
  const InstructionsOfTheTest restored;
  if (ranks.size() < 2 || here.size() < 2) GTEST_SKIP() << "needs ranks that differ";
  const Instructions least = here[here.size() - 2];
  const bool is_older_node = ranks.rank() == ranks.size() - 1;
  use_instructions(is_older_node ? least : here.back());
  EXPECT_EQ(agreed_kernels({.gemm = GemmChoice::measure}, ranks),
            (KernelOptions{.gemm = GemmChoice::measure, .instructions = least}));
}

TEST(AgreedKernels, AreRefusedWhereARankLacksThem) {
  RankGroup ranks(MPI_COMM_WORLD, 30);
  const std::vector<Instructions> here = available_instructions();
  const Instructions lacking = here.front() == Instructions::neon ? Instructions::avx2 : Instructions::neon;
  const bool is_last = ranks.rank() == ranks.size() - 1;
  const std::string rank = ranks.size() > 1 ? "rank " + std::to_string(ranks.size() - 1) : "";
  EXPECT_TRUE(test::refuses(
      ExitCode::bad_input, errors::no_instructions, {name_of(lacking), name_of(here.front()), rank},
      [&] {  // the others ask for what all have
        static_cast<void>(agreed_kernels({.instructions = is_last ? lacking : here.front()}, ranks));
      }));
}

}  // namespace mylos::agreed_kernels_test
