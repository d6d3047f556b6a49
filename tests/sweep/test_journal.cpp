// The state of a sweep on disk: claims, results, and what a later start finds.
#include "mylos/sweep/state/journal.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "mylos/base/errors/contents.hpp"
#include "support/refusal.hpp"

namespace mylos::journal_test {

using test::refuses;

class JournalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ =
        std::filesystem::path(::testing::TempDir()) / fmt::format("journal-{}-{}", getpid(), test->name());
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] Journal opened() const { return {folder_.string(), 3, 2}; }

  std::filesystem::path folder_;
};

const MemberResult stopped{
    .state = MemberState::stopped, .steps = 10, .value = 0.5, .best = 0.25, .best_step = 8, .seconds = 1.5};
const MemberResult failed{.state = MemberState::failed, .ranks = 2, .cause = "train.h5: \"damaged\", row 7"};

TEST_F(JournalTest, IsSharedByGroups) {
  Journal first = opened();
  first.begin();
  Journal second = opened();
  EXPECT_FALSE(second.refresh());
  EXPECT_TRUE(first.claim(1, 0));
  EXPECT_FALSE(second.claim(1, 0));
  EXPECT_TRUE(second.refresh());
  EXPECT_TRUE(second.has_claims());
  EXPECT_EQ(second.rows()[1].state, MemberState::running);
  first.finish(1, 0, stopped);
  EXPECT_TRUE(second.refresh());
  EXPECT_FALSE(second.refresh());
  EXPECT_FALSE(second.has_claims());
  EXPECT_EQ(second.results(1), std::vector<MemberResult>{stopped});
  EXPECT_EQ(second.progress()[1].values, std::vector<std::optional<double>>{0.5});
  EXPECT_FALSE(second.progress()[1].is_over);
}

TEST_F(JournalTest, ContinuesAfterAKill) {
  Journal killed = opened();
  killed.begin();
  ASSERT_TRUE(killed.claim(0, 0));
  killed.finish(0, 0, stopped);
  ASSERT_TRUE(killed.claim(0, 1));
  ASSERT_TRUE(killed.claim(1, 0));
  killed.finish(1, 0, failed);
  ASSERT_TRUE(killed.claim(2, 0));
  killed.finish(2, 0, {.state = MemberState::diverged});
  std::ofstream(folder_ / "state/0001-0.json.tmp") << "{";  // half of a result

  Journal next = opened();
  next.begin();
  next.refresh();
  const std::vector<MemberProgress> progress = next.progress();
  EXPECT_TRUE(progress[0].is_interrupted && !progress[0].is_claimed);
  EXPECT_EQ(progress[0].finished(), 1u);
  EXPECT_TRUE(progress[1].is_interrupted && !progress[1].is_over) << "its cause may be gone";
  EXPECT_TRUE(progress[2].is_over) << "it would diverge again";
  EXPECT_TRUE(next.claim(0, 1));
}

TEST_F(JournalTest, TriesAgainWhatFailedOrDidNotFit) {
  Journal earlier = opened();
  earlier.begin();
  const std::array results{MemberState::failed, MemberState::does_not_fit, MemberState::done};
  for (std::size_t member = 0; member < results.size(); ++member) {
    ASSERT_TRUE(earlier.claim(member, 0));
    earlier.finish(member, 0, {.state = results[member], .cause = "a cause"});
  }
  Journal next = opened();
  next.begin();
  next.refresh();
  const std::vector<MemberProgress> progress = next.progress();
  EXPECT_FALSE(progress[0].is_over);
  EXPECT_FALSE(progress[1].is_over) << "the memory may be larger, or the deck's budget";
  EXPECT_TRUE(progress[2].is_over);
}

TEST_F(JournalTest, GivesAJobUp) {
  Journal journal = opened();
  journal.begin();
  ASSERT_TRUE(journal.claim(2, 0));
  journal.interrupt(2, 0);
  journal.refresh();
  EXPECT_TRUE(journal.progress()[2].is_interrupted);
  EXPECT_FALSE(journal.has_claims());
}

TEST_F(JournalTest, RefusesADamagedResult) {
  Journal journal = opened();
  journal.begin();
  std::ofstream(folder_ / "state/0001-0.json") << "{\"state\": \"waiting\"}";
  EXPECT_TRUE(refuses(errors::damaged, {"0001-0.json"}, [&] { journal.refresh(); }));
}

TEST(MemberResult, ComesBackFromItsText) {
  for (const MemberResult& result : {stopped, failed})
    EXPECT_EQ(parse_member_result(document_of(result), "a"), result);
}

}  // namespace mylos::journal_test
