#include "mylos/data/run/windows_of_steps.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/builders.hpp"
#include "mylos/base/errors/samples.hpp"
#include "support/refusal.hpp"

namespace mylos::windows_of_steps_test {

using namespace testing_support;

/// Writes fields u and f with `levels` levels of two points.
std::string write_fields(const std::string& path, std::int64_t levels) {
  python(
      fmt::format("import h5py, numpy as n\n"
                  "f = h5py.File('{0}', 'w')\n"
                  "f['u'] = n.arange({1} * 2.).reshape({1}, 2)\n"
                  "f['f'] = 100 + n.arange({1} * 2.).reshape({1}, 2)\n",
                  path, levels));
  return path;
}

ArrayOptions fields() {
  ArrayOptions options;
  options.inputs = {"/u", "/f"};
  options.targets = {"/u"};
  options.axes = {"time", "x"};
  return options;
}

TEST(RolloutWindows, TrainingWindowsEndBeforeThoseHeldOut) {
  const TemporaryFolder folder;
  const std::vector<std::string> files{write_fields(folder / "a.h5", 8), write_fields(folder / "b.h5", 9)};
  ArrayOptions options = fields();
  for (const std::int64_t stride : {1, 2}) {
    if (stride == 2) options.slice = {{.axis = "time", .step = 2}};
    const auto single = open_array_store(files, options);
    for (const std::int64_t steps : {1, 2, 3}) {
      const auto several = open_array_store(files, options, steps);
      for (std::int64_t train = 1; train <= single->samples(); ++train) {
        std::int64_t expected = 0;
        for (std::int64_t window = 0; window < several->samples(); ++window) {
          const WindowLocation at = several->location_of(window);
          std::int64_t inside = 0;
          for (std::int64_t sample = 0; sample < train; ++sample) {
            const WindowLocation one = single->location_of(sample);
            const std::int64_t further = one.newest - at.newest;
            inside += one.file == at.file && further >= 0 && further < steps * stride ? 1 : 0;
          }
          expected += inside == steps ? 1 : 0;
        }
        if (expected == 0) {
          EXPECT_TRUE(test::refuses(errors::too_little_data, {"rollout.steps"}, [&] {
            static_cast<void>(windows_of_all_steps(*several, *single, {0, train}));
          }));
          continue;
        }
        const Split found = windows_of_all_steps(*several, *single, {0, train});
        EXPECT_EQ(found.first, 0);
        EXPECT_EQ(found.count, expected) << stride << ' ' << steps << ' ' << train;
      }
    }
  }
}

TEST(RolloutWindows, AChannelIsScaledAlikeInEveryStep) {
  RolloutLayout layout;
  layout.points = 2;
  layout.history = 2;
  layout.steps = 3;
  layout.level_channels = 3;
  layout.constants = 1;
  layout.state = {1};
  layout.forcing = {0, 2};
  Normalizer of_one;
  for (int column = 0; column < 2 * 7; ++column) {
    of_one.inputs.shift.push_back(column);
    of_one.inputs.scale.push_back(100 + column);
  }
  of_one.targets = {{1, 2}, {3, 4}};
  const Normalizer of_all = for_all_steps(of_one, layout);
  EXPECT_EQ(of_all.inputs.shift, (std::vector<double>{0, 1, 2, 3,  4,  5,  6,  3,  5,  3,  5,  //
                                                      7, 8, 9, 10, 11, 12, 13, 10, 12, 10, 12}));
  EXPECT_EQ(of_all.inputs.scale.back(), 112);
  EXPECT_EQ(of_all.targets.shift, (std::vector<double>{1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(of_all.targets.scale, (std::vector<double>{3, 3, 3, 4, 4, 4}));
  EXPECT_EQ(for_all_steps({}, layout), Normalizer{});
}

}  // namespace mylos::windows_of_steps_test
