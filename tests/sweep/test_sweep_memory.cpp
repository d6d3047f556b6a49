// The number of groups of ranks that fit a node.
#include "mylos/sweep/run/sweep_memory.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "data/builders.hpp"
#include "mylos/base/errors/memory.hpp"
#include "support/refusal.hpp"

namespace mylos::sweep_memory_test {

TEST(SweepMemory, DividesTheNodeByTheGroupsThatFit) {
  const auto needs = [](std::size_t bytes) { return [bytes](std::size_t part) { return part >= bytes; }; };
  EXPECT_EQ(groups_that_fit(4, 100, needs(25)), 4);
  EXPECT_EQ(groups_that_fit(4, 100, needs(26)), 3);
  EXPECT_EQ(groups_that_fit(4, 100, needs(100)), 1);
  EXPECT_EQ(groups_that_fit(4, 100, needs(101)), 0);
}

constexpr const char* deck = R"(
[run]
steps = 10
[data]
train = "{}"
batch = 16
[model]
type = "mlp"
hidden = [8]
loss = "mse"
[memory]
budget = "{}"
)";

class MembersOfANode : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    testing_support::write_table(table_, 64, 3, 2);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] Sweep sweep(const char* budget, int ranks_per_trial = 1) const {
    SweepRequest request;
    request.deck_text = fmt::format(fmt::runtime(deck), table_, budget);
    request.deck_file = "deck.toml";
    request.words = {"model.dropout=0,0.1"};
    request.folder = folder_ + "/sweep";
    request.ranks_per_trial = ranks_per_trial;
    return Sweep(std::move(request));
  }
  /// Two groups of ranks on a node, with these bytes per rank.
  static void require_fit(const Sweep& sweep, std::size_t bytes) {
    const int ranks = 2 * sweep.description().ranks_per_trial;
    require_members_fit(sweep, {.ranks_on_node = ranks, .budget_bytes = bytes});
  }
  static bool fits(const Sweep& sweep, std::size_t bytes) {
    try {
      require_fit(sweep, bytes);
    } catch (const Error& error) {
      EXPECT_EQ(error.id(), errors::does_not_fit) << error.what();
      return false;
    }
    return true;
  }
  /// Returns the largest number of bytes per rank, to a tenth, with which two members do not fit together.
  static double most_that_is_refused(const Sweep& sweep) {
    double bytes = 0x1p36;
    while (bytes > 0x1p16 && fits(sweep, static_cast<std::size_t>(bytes))) bytes *= 0.9;
    return bytes;
  }

  std::string folder_ = ::testing::TempDir() + fmt::format("/members-of-a-node-{}", getpid());
  std::string table_ = folder_ + "/table.h5";
};

/// Of powers of two there is one with which a single member fits the node, and two do not.
TEST_F(MembersOfANode, AreRefusedWhereFewerFitAndNotWhereTheirOwnBudgetIsTooSmallAlone) {
  const Sweep with_room = sweep("64 GiB");
  const Sweep without = sweep("1 MiB");
  int refused = 0;
  for (std::size_t bytes = std::size_t{1} << 16; bytes <= std::size_t{1} << 36; bytes *= 2) {
    try {
      require_fit(with_room, bytes);
    } catch (const Error& error) {
      EXPECT_EQ(error.id(), errors::does_not_fit) << error.what();
      EXPECT_NE(error.message().find("1 fits at once"), std::string_view::npos) << error.what();
      EXPECT_NO_THROW(require_fit(without, bytes)) << "its own start says so";
      ++refused;
    }
  }
  EXPECT_EQ(refused, 1);
}

/// What a rank needs hardly depends on how many ranks share these small members.
TEST_F(MembersOfANode, OfTwoRanksNeedTheBytesOfARankOnEachOfTheirRanks) {
  const double of_one_rank = most_that_is_refused(sweep("64 GiB"));
  const double of_two_ranks = most_that_is_refused(sweep("64 GiB", 2));
  EXPECT_GT(of_one_rank, 0x1p20);
  EXPECT_NEAR(of_two_ranks / of_one_rank, 1, 0.25);
}

}  // namespace mylos::sweep_memory_test
