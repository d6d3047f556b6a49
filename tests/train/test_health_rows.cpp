// health.csv and its tail in checkpoints, over restarts.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "checkpoint/checkpoint_builders.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/checkpoint/write/writer.hpp"
#include "mylos/train/health/health_rows.hpp"
#include "support/refusal.hpp"

namespace mylos::health_rows_test {

const std::vector<std::string> names{"head/weight", "head/bias"};

HealthRecord inspect(std::uint64_t step) {
  const ParameterHealth weight{.gradient_squares = 4,
                               .weight_squares = 100,
                               .change_squares = 1e-4,
                               .largest_gradient = 0.5f,
                               .largest_weight = static_cast<float>(step),
                               .zeros = 25,
                               .subnormals = 5,
                               .non_finite = 1,
                               .count = 100};
  return {step, {weight, {}}};
}

std::string contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Looks at every second step up to `last`, written.
HealthRows rows_to(const std::string& path, std::uint64_t last) {
  HealthRows rows(path, names);
  for (std::uint64_t step = 2; step <= last; step += 2) rows.add(inspect(step));
  rows.write();
  return rows;
}

class HealthRowsFile : public testing::Test {
 protected:
  RankGroup ranks_{MPI_COMM_WORLD, 30};
  const test::SharedFolder folder_{ranks_};
  // Each rank a file of its own.
  const std::string csv_ = folder_.path() + "/health-" + std::to_string(ranks_.rank()) + ".csv";
  const std::string saved_ = folder_.path() + "/rows.h5";

  std::string said_;  // by the last restore()

  void save(HealthRows& rows) {
    CheckpointState state;
    rows.save(state);
    write_checkpoint_file(ranks_, saved_, {}, state);
  }
  HealthRows restored(const std::string& path, std::uint64_t step,
                      std::vector<std::string> parameters = names) {
    HealthRows rows(path, std::move(parameters));
    CheckpointState room;
    const CheckpointReader reader(ranks_, saved_);
    rows.make_room(reader, room);
    reader.read(room);
    said_ = rows.restore(step);
    ranks_.barrier();
    return rows;
  }
};

TEST_F(HealthRowsFile, HasARowOfEachParameterAtEachLook) {
  rows_to(csv_, 2);
  EXPECT_EQ(contents(csv_),
            "step,parameter,gradient_norm,weight_norm,update_ratio,largest_gradient,largest_weight,zeros,"
            "subnormals,"
            "non_finite\n2,head/weight,2,10,0.001,0.5,2,0.25,0.05,1\n2,head/bias,0,0,0,0,0,0,0,0\n");
}

TEST_F(HealthRowsFile, IsCutAtTheCheckpointAndGoesOn) {
  HealthRows saved = rows_to(csv_, 6);
  save(saved);
  std::filesystem::remove(csv_);
  rows_to(csv_, 10);  // of a run that was killed later
  std::ofstream(csv_, std::ios::app) << "12,head/wei";
  HealthRows rows = restored(csv_, 6);
  EXPECT_EQ(rows.tail(), saved.tail());
  rows.add(inspect(8));
  rows.write();
  const std::string after = contents(csv_);
  std::filesystem::remove(csv_);
  rows_to(csv_, 8);
  EXPECT_EQ(after, contents(csv_));
}

TEST_F(HealthRowsFile, ComesFromTheCheckpointWhereItIsGone) {
  HealthRows saved = rows_to(csv_, 6);
  const std::string before = contents(csv_);
  save(saved);
  std::filesystem::remove(csv_);
  restored(csv_, 6);
  EXPECT_EQ(contents(csv_), before);
}

TEST_F(HealthRowsFile, IsCutWhereTheCheckpointHasNoLook) {
  HealthRows saved = rows_to(csv_, 0);
  save(saved);
  rows_to(csv_, 2);
  restored(csv_, 1);
  EXPECT_EQ(contents(csv_).find('\n'), contents(csv_).size() - 1);
}

TEST_F(HealthRowsFile, WithHalfALookGetsTheRest) {
  HealthRows saved = rows_to(csv_, 6);
  const std::string before = contents(csv_);
  save(saved);
  std::filesystem::resize_file(csv_, before.find("6,head/bias"));
  restored(csv_, 6);
  EXPECT_EQ(contents(csv_), before);
  EXPECT_EQ(said_, csv_ + ": 1 rows taken from the checkpoint.");
}

TEST_F(HealthRowsFile, OfOtherColumnsIsSetAside) {
  HealthRows saved = rows_to(csv_, 6);
  const std::string before = contents(csv_);
  save(saved);
  std::ofstream(csv_) << "step,parameter,norm\n2,head/weight,1\n";
  restored(csv_, 6);
  EXPECT_EQ(contents(csv_), before);
  EXPECT_EQ(contents(csv_ + ".1"), "step,parameter,norm\n2,head/weight,1\n");
}

TEST_F(HealthRowsFile, OfOtherParametersIsRefused) {
  HealthRows saved = rows_to(csv_, 6);
  save(saved);
  EXPECT_TRUE(
      test::refuses(errors::damaged, {"/history/health"}, [&] { (void)restored("", 6, {"head/weight"}); }));
}

TEST_F(HealthRowsFile, KeepsTheLastLooksInACheckpoint) {
  const HealthRows rows = rows_to(csv_, 2 * (HealthRows::tail_length + 5));
  ASSERT_EQ(rows.tail().size(), HealthRows::tail_length);
  EXPECT_EQ(rows.tail().front().step, 12u);
}

}  // namespace mylos::health_rows_test
