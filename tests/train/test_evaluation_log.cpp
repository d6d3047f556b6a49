// Evaluations as rows of evaluations.csv and of a checkpoint, and what is cut and filled at a restart.
#include "mylos/train/evaluation/evaluation_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "checkpoint/checkpoint_builders.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/checkpoint/write/writer.hpp"
#include "mylos/train/history/training_loss.hpp"
#include "support/refusal.hpp"

namespace mylos::evaluation_log_test {

constexpr Metric validation_loss{DataPart::validation, "loss"};

/// Of one evaluation: the training loss, and the validation data's loss and accuracy.
std::vector<EvaluationRow> evaluation(std::uint64_t step, double loss) {
  return {{.step = step, .epoch = 0.5, .part = DataPart::train, .loss = 2 * loss, .elapsed_s = 1},
          {.step = step,
           .epoch = 0.5,
           .part = DataPart::validation,
           .loss = loss,
           .accuracy = 0.1,
           .elapsed_s = 1.0 + static_cast<double>(step)}};
}

class EvaluationLogFile : public testing::Test {
 protected:
  [[nodiscard]] std::string path() const {
    return ranks.rank() == 0 ? folder.path() + "/evaluations.csv" : "";
  }
  [[nodiscard]] EvaluationLog log(std::int64_t patience = 0) const {
    return EvaluationLog(path(), BestEvaluation(validation_loss, patience));
  }
  void take(EvaluationLog& log, const std::vector<EvaluationRow>& rows) const {
    log.update_best(rows);
    log.write(rows);
  }
  [[nodiscard]] std::string save(EvaluationLog& log) {
    CheckpointState state;
    log.save(state);
    const std::string file = folder.path() + "/log.h5";
    write_checkpoint_file(ranks, file, {}, state);
    return file;
  }
  std::string restore(EvaluationLog& log, const std::string& file, std::int64_t step) {
    const CheckpointReader reader(ranks, file);
    CheckpointState room;
    log.make_room(reader, room);
    reader.read(room);
    log.require_valid(file, step);
    return log.restore(step);
  }
  /// The lines of the file, without the last column, which a clock filled.
  [[nodiscard]] std::vector<std::string> lines() const {
    std::ifstream file(folder.path() + "/evaluations.csv");
    std::vector<std::string> found;
    for (std::string line; std::getline(file, line);) found.push_back(line.substr(0, line.rfind(',')));
    return found;
  }

  RankGroup ranks{MPI_COMM_WORLD, 60};
  test::SharedFolder folder{ranks};
};

TEST_F(EvaluationLogFile, HasALineForEachPartWithEveryBit) {
  EvaluationLog log = this->log();
  take(log, evaluation(5, 0.1 + 0.2));
  if (ranks.rank() != 0) return;
  EXPECT_EQ(lines(),
            (std::vector<std::string>{
                "step,epoch,part,loss,accuracy,top5,r2,rollout,relative_l2,relative_h1,crps",
                "5,0.5,train,0.6000000000000001,,,,,,,", "5,0.5,validation,0.30000000000000004,0.1,,,,,,"}));
}

TEST_F(EvaluationLogFile, WithABestFromTheFutureIsRefused) {
  EvaluationLog log = this->log();
  take(log, evaluation(20, 0.5));
  const std::string file = save(log);
  EXPECT_TRUE(test::refuses(errors::damaged, {file, "/evaluation", "19", "20"},
                            [&] { (void)restore(log, file, 19); }));
}

TEST_F(EvaluationLogFile, ARestartCutsItBehindTheCheckpointAndGoesOnWithTheBest) {
  std::string file;
  {
    EvaluationLog log = this->log();
    for (const std::uint64_t step : {5u, 10u}) take(log, evaluation(step, 1.0 / static_cast<double>(step)));
    take(log, evaluation(15, 0.3));
    file = save(log);
    take(log, evaluation(20, 0.01));  // after the checkpoint
    ranks.barrier();
  }
  EvaluationLog log = this->log();
  EXPECT_EQ(restore(log, file, 17), "");
  EXPECT_EQ(log.best().step(), 10);
  EXPECT_EQ(log.best().value(), 0.1);
  EXPECT_EQ(log.best().without_improvement(), 1);
  if (ranks.rank() == 0) {
    EXPECT_EQ(lines().size(), 7u);
  }
  take(log, evaluation(20, 0.01));
  EXPECT_EQ(log.best().step(), 20);
  if (ranks.rank() == 0) {
    EXPECT_EQ(lines().back(), "20,0.5,validation,0.01,0.1,,,,,,");
  }
}

TEST_F(EvaluationLogFile, WhatItLacksAtARestartComesFromTheCheckpoint) {
  std::string file;
  {
    EvaluationLog log = this->log();
    for (std::uint64_t step = 1; step <= 600; ++step) take(log, evaluation(step, 1));  // more than the tail
    file = save(log);
    if (ranks.rank() == 0) std::filesystem::remove(path());
    ranks.barrier();
  }
  EvaluationLog log = this->log();
  const std::string said = restore(log, file, 600);
  if (ranks.rank() != 0) return;
  EXPECT_THAT(said, testing::HasSubstr("1000 rows taken from the checkpoint"));
  EXPECT_THAT(said, testing::HasSubstr("rows of 200 earlier evaluated parts are missing"));
  EXPECT_EQ(lines().size(), 1001u);
  EXPECT_EQ(lines()[1], "101,0.5,train,2,,,,,,,");
}

TEST_F(EvaluationLogFile, OfAnotherRunIsSetAside) {
  std::string file;
  {
    EvaluationLog log = this->log();
    take(log, evaluation(5, 1));
    file = save(log);
  }
  if (ranks.rank() == 0) {
    std::filesystem::remove(path());
    EvaluationLog other = this->log();
    take(other, evaluation(5, 2));
  }
  ranks.barrier();
  EvaluationLog log = this->log();
  const std::string said = restore(log, file, 5);
  if (ranks.rank() != 0) return;
  EXPECT_THAT(said, testing::HasSubstr("evaluations.csv is of another run: now "));
  EXPECT_EQ(lines().back(), "5,0.5,validation,1,0.1,,,,,,");
}

TEST_F(EvaluationLogFile, BeginsWhereABuildKeptNoEvaluations) {
  const std::string file = folder.path() + "/older.h5";
  double of_model = 1;
  CheckpointState older;
  older.add_scalar("/schedule/step", of_model);
  write_checkpoint_file(ranks, file, {}, older);
  EvaluationLog log = this->log();
  EXPECT_EQ(restore(log, file, 100), "");
  EXPECT_EQ(log.best().step(), -1);
}

TEST_F(EvaluationLogFile, AnotherMetricIsJudgedByTheRowsThatAreThere) {
  EvaluationLog before(path(), BestEvaluation(Metric{DataPart::train, "loss"}));
  for (const auto& [step, loss] : {std::pair{5, 0.5}, {10, 0.2}, {15, 0.3}, {20, 0.2}})
    take(before, evaluation(static_cast<std::uint64_t>(step), loss));
  const std::string file = save(before);
  EvaluationLog log = this->log(2);
  static_cast<void>(restore(log, file, 20));
  EXPECT_EQ(log.best().step(), 10);
  EXPECT_EQ(log.best().without_improvement(), 2);
  EXPECT_TRUE(log.best().patience_is_over());
  EvaluationLog none(path(), BestEvaluation());
  static_cast<void>(restore(none, file, 20));
  EXPECT_EQ(none.best().step(), -1);
}

TEST(TrainingLoss, IsTheMeanOfTheStepsThatWereApplied) {
  TrainingLoss loss;
  loss.add({.loss = 1});
  loss.add({.loss = 100, .overflow = 1});
  loss.add({.loss = 4});
  EXPECT_EQ(loss.take(), 2.5);
  loss.add({.loss = 3});
  EXPECT_EQ(loss.take(), 3);
  EXPECT_TRUE(std::isnan(loss.take()));
}

}  // namespace mylos::evaluation_log_test
