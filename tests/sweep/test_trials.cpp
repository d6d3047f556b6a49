// The points of a grid, and the strata of a Latin hypercube.
#include "mylos/sweep/space/trials.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "support/refusal.hpp"

namespace mylos::trials_test {

using test::refuses;

const SweepKey lr{.key = "optimizer.lr", .low = 1e-4, .high = 1e-1, .is_logarithmic = true};
const SweepKey dropout{.key = "model.dropout", .low = 0, .high = 0.5};
const SweepKey batch{.key = "data.batch", .low = 1, .high = 8, .is_integer = true};
const SweepKey compute{.key = "precision.compute", .values = {"fp32", "bf16", "fp16"}};
const SweepKey lrs{.key = "optimizer.lr", .values = {"1e-3", "1e-2"}};

double column(const Trial& trial, std::size_t key) {
  return std::strtod(trial[key].c_str(), nullptr);
}

TEST(Trials, AreAllPointsOfAGridWithTheLastKeyFastest) {
  const std::vector<Trial> expected{{"1e-3", "fp32"}, {"1e-3", "bf16"}, {"1e-3", "fp16"},
                                    {"1e-2", "fp32"}, {"1e-2", "bf16"}, {"1e-2", "fp16"}};
  EXPECT_EQ(choose_trials({lrs, compute}, 0, 1), expected);
}

TEST(Trials, HaveOneInEachIntervalOfEachRange) {
  constexpr std::int64_t count = 40;
  const std::vector<Trial> trials = random_trials({lr, dropout, batch, compute}, count, 3);
  std::set<int> of_lr;
  std::set<int> of_dropout;
  std::map<std::string, int> of_batch;
  std::map<std::string, int> of_compute;
  for (const Trial& trial : trials) {
    of_lr.insert(static_cast<int>(count * (std::log10(column(trial, 0)) + 4) / 3));
    of_dropout.insert(static_cast<int>(count * column(trial, 1) / 0.5));
    ++of_batch[trial[2]];
    ++of_compute[trial[3]];
  }
  EXPECT_EQ(of_lr.size(), 40u);
  EXPECT_EQ(of_dropout.size(), 40u);
  EXPECT_EQ(of_batch.size(), 8u);
  for (const auto& [value, times] : of_batch) EXPECT_EQ(times, 5) << value;
  for (const auto& [value, times] : of_compute) EXPECT_NEAR(times, 40 / 3, 1) << value;
}

TEST(Trials, DependOnTheSeedAlone) {
  EXPECT_EQ(random_trials({lr, dropout}, 9, 5), random_trials({lr, dropout}, 9, 5));
  EXPECT_NE(random_trials({lr, dropout}, 9, 5), random_trials({lr, dropout}, 9, 6));
  // Keys are not sampled alike.
  const SweepKey other{.key = "model.width", .low = 1e-4, .high = 1e-1, .is_logarithmic = true};
  const std::vector<Trial> both = random_trials({lr, other}, 9, 5);
  EXPECT_TRUE(std::any_of(both.begin(), both.end(), [](const Trial& trial) { return trial[0] != trial[1]; }));
}

TEST(Trials, OfAGridAreDifferentPoints) {
  for (std::int64_t count = 1; count <= 6; ++count) {
    const std::vector<Trial> trials = choose_trials({lrs, compute}, count, 2);
    EXPECT_EQ(std::set<Trial>(trials.begin(), trials.end()).size(), static_cast<std::size_t>(count));
  }
}

TEST(Trials, RefusesCountsThatAreNotPossible) {
  const auto choose = [](std::vector<SweepKey> keys, std::int64_t count) {
    return [keys = std::move(keys), count] { static_cast<void>(choose_trials(keys, count, 1)); };
  };
  EXPECT_TRUE(refuses(errors::bad_argument, {"7", "6"}, choose({lrs, compute}, 7)));
  EXPECT_TRUE(refuses(errors::missing_argument, {"optimizer.lr", "--trials"}, choose({lr}, 0)));
  EXPECT_TRUE(refuses(errors::too_large, {"--trials"}, choose({lr}, max_trials + 1)));
  std::vector<SweepKey> many(60, compute);
  EXPECT_TRUE(refuses(errors::too_large, {"--trials"}, choose(many, 0)));
}

}  // namespace mylos::trials_test
