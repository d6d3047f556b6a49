// How outputs of a network of arrays become its next input: channels, and units after normalisation.
#include <gtest/gtest.h>

#include "mylos/base/errors/combinations.hpp"
#include "mylos/data/run/rollout_feedback.hpp"
#include "support/refusal.hpp"

namespace mylos::rollout_feedback_test {

/// Levels of f, u, v, of which v and u are targets in this order, two levels and one constant.
RolloutLayout layout_of(bool adds_newest) {
  return {.points = 2,
          .history = 2,
          .ahead = 1,
          .steps = 3,
          .level_channels = 3,
          .constants = 1,
          .state = {2, 1},
          .adds_newest = adds_newest ? std::vector<std::uint8_t>{1, 1} : std::vector<std::uint8_t>{},
          .forcing = {0}};
}

TEST(RolloutFeedback, MapsChannelsOfAllLevels) {
  for (const bool adds : {false, true}) {
    const FeedbackMap map = feedback_map(layout_of(adds));
    EXPECT_EQ(map.points, 2);
    EXPECT_EQ(map.steps, 3);
    EXPECT_EQ(map.row_channels, 9);  // seven of the first input, the forcing of two steps
    EXPECT_EQ(map.output_channels, 2);
    const std::vector<FeedbackChannel> expected{{.previous = 3},
                                                {.previous = 4, .is_state = true},
                                                {.previous = 5, .is_state = true},
                                                {.row = 7, .row_step = 1},
                                                {.previous = adds ? 4 : -1, .output = 1, .is_state = true},
                                                {.previous = adds ? 5 : -1, .output = 0, .is_state = true},
                                                {.row = 6}};
    EXPECT_EQ(map.inputs, expected);
  }
}

TEST(RolloutFeedback, ScalesOutputsToTheUnitsOfInputs) {
  for (const bool adds : {false, true}) {
    const FeedbackMap map = feedback_map(layout_of(adds));
    Normalizer normalizer;
    for (int point = 0; point < 2; ++point) {
      for (const double c : {0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0}) {
        normalizer.inputs.shift.push_back(10 + c);
        normalizer.inputs.scale.push_back(1 + c);
      }
      normalizer.targets.shift.insert(normalizer.targets.shift.end(), {0.5, -2});
      normalizer.targets.scale.insert(normalizer.targets.scale.end(), {4, 0.25});
    }
    const std::vector<FeedbackScaling> scalings = feedback_scalings(normalizer, map);
    ASSERT_EQ(scalings.size(), 7u);
    EXPECT_EQ(scalings[1].scale, 1);
    EXPECT_EQ(scalings[1].offset, 0);
    // A physical value p of output 1 is (p - -2) * 0.25, of input 4 it is (p - 14) * 5.
    const double p = 3;
    const double y = (p + 2) * 0.25;
    const double expected = adds ? p * 5 : (p - 14) * 5;  // a difference is added to the scaled state
    EXPECT_FLOAT_EQ(static_cast<float>(scalings[4].scale * y + scalings[4].offset),
                    static_cast<float>(expected));
  }
}

TEST(RolloutFeedback, IsTheIdentityWithoutNormalisation) {
  for (const FeedbackScaling& scaling : feedback_scalings({}, feedback_map(layout_of(true)))) {
    EXPECT_EQ(scaling.scale, 1);
    EXPECT_EQ(scaling.offset, 0);
  }
}

TEST(RolloutFeedback, RefusesWhatCannotBeFedBack) {
  RolloutLayout no_input = layout_of(false);
  no_input.state = {2, -1};  // a diagnostic
  EXPECT_EQ(feedback_map(no_input).output_channels, 2);
  no_input.state = {-1, -1};
  EXPECT_TRUE(test::refuses(errors::keys_conflict, {"data.arrays.inputs"},
                            [&] { static_cast<void>(feedback_map(no_input)); }));
  RolloutLayout far = layout_of(false);
  far.ahead = 2;
  EXPECT_TRUE(test::refuses(errors::keys_conflict, {"data.arrays.ahead", "data.arrays.history"},
                            [&] { static_cast<void>(feedback_map(far)); }));
  far.history = 1;
  EXPECT_NO_THROW(static_cast<void>(feedback_map(far)));
  Normalizer by_point;
  for (int column = 0; column < 14; ++column) {
    by_point.inputs.shift.push_back(column);
    by_point.inputs.scale.push_back(1);
  }
  EXPECT_TRUE(test::refuses(errors::keys_conflict, {"data.normalize", "channel"}, [&] {
    static_cast<void>(feedback_scalings(by_point, feedback_map(layout_of(false))));
  }));
}

}  // namespace mylos::rollout_feedback_test
