// Boxes of samples of arrays, against what the store of whole samples reads.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "data/box_builders.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/errors/samples.hpp"
#include "support/refusal.hpp"

namespace mylos::array_boxes_test {

using namespace testing_support;

using Boxes = std::array<std::int64_t, 3>;

class ArrayBoxes : public testing::Test {
 protected:
  [[nodiscard]] std::shared_ptr<ArrayStore> store(const std::string& lines, const ArrayOptions& options,
                                                  std::int64_t steps = 1) {
    const std::string path = folder_ / fmt::format("{}.h5", files_++);  // earlier ones may still be open
    return open_array_store({write_arrays(path, lines)}, options, steps);
  }
  TemporaryFolder folder_;
  int files_ = 0;
};

TEST_F(ArrayBoxes, OfLinesPlanesAndVolumes) {
  expect_boxes(*store("f['u'] = code(4, 6)", one_array("/u", {"time", "x"})), {1, 1, 3});
  const auto planes = store("f['u'] = code(4, 4, 6)", one_array("/u", {"time", "y", "x"}));
  for (const Boxes& boxes : {Boxes{1, 2, 3}, Boxes{1, 4, 1}, Boxes{1, 1, 6}}) expect_boxes(*planes, boxes);
  EXPECT_EQ(planes->part({{1, 2, 3}, {0, 1, 2}})->grid(), (std::vector<std::int64_t>{2, 2, 1}));
  const auto volumes = store("f['u'] = code(3, 2, 4, 6)", one_array("/u", {"time", "z", "y", "x"}));
  for (const Boxes& boxes : {Boxes{2, 2, 3}, Boxes{2, 1, 1}, Boxes{1, 2, 2}}) expect_boxes(*volumes, boxes);
}

TEST_F(ArrayBoxes, OfPermutedAxesWithSlicesAndChannels) {
  ArrayOptions options = one_array("/u", {"x", "channel", "time", "y"});
  options.inputs = {"/u", "/v", "/w"};
  options.axes_of = {{"/v", {"y", "time", "x"}}, {"/w", {"time", "x"}}};
  options.slice = {{"time", 2, std::nullopt, 3}, {"y", -9, -1, 2}, {"x", -7, -1}};
  // /v has one more point along y, of which negative numbers count from another end.
  const auto permuted = store(
      "a = code(12, 10, 8)\n"
      "f.create_dataset('u', data=n.stack([a, a + 0.5], -1).transpose(2, 3, 0, 1), chunks=(3, 1, 4, 5))\n"
      "f['v'] = -code(12, 11, 8)[:, 1:, :].transpose(1, 0, 2); f['w'] = code(12, 8) / 64",
      [&] {
        ArrayOptions same = options;
        same.slice[1] = {"y", 1, 9, 2};
        return same;
      }());
  EXPECT_EQ(permuted->grid(), (std::vector<std::int64_t>{6, 4, 4}));
  for (const Boxes& boxes : {Boxes{1, 3, 2}, Boxes{1, 2, 4}, Boxes{1, 6, 1}}) expect_boxes(*permuted, boxes);
  options.inputs = {"/u", "/v"};
  const auto uneven = store(
      "a = code(12, 10, 8)\n"
      "f['u'] = n.stack([a, a + 0.5], -1).transpose(2, 3, 0, 1); f['v'] = -code(12, 11, 8).transpose(1, 0, "
      "2)",
      options);
  EXPECT_EQ(uneven->grid(), (std::vector<std::int64_t>{6, 4, 3}));
  expect_boxes(*uneven, {1, 2, 2});
  const auto box = uneven->part({{1, 2, 2}, {0, 1, 1}});
  // The box begins at x = 1 + 3, y = 1 + 2 * 2 of /u and one more of /v, as stored.
  EXPECT_NE(box->location_of_input(0, 0).find("/u[4, 0, 2, 5]"), std::string::npos)
      << box->location_of_input(0, 0);
  EXPECT_NE(box->location_of_input(0, 2).find("/v[6, 2, 4]"), std::string::npos)
      << box->location_of_input(0, 2);
}

TEST_F(ArrayBoxes, OfHistoriesConstantsDifferencesAndTrajectories) {
  ArrayOptions options = one_array("/u", {"sample", "time", "y", "x"});
  options.inputs = {"/u", "/q"};
  options.constants = {"/land", "/height"};
  options.axes_of = {{"/height", {"y"}}, {"/land", {"x", "y"}}};
  options.targets = {"/u", "/q"};
  options.history = 3;
  options.ahead = 2;
  options.every = 2;
  options.differences = {"/u"};
  const char* lines =
      "f['u'] = code(2, 9, 4, 6) * 1.0000001; f['q'] = n.sqrt(code(2, 9, 4, 6))\n"
      "f['land'] = code(6, 4); f['height'] = n.arange(4.)";
  write_arrays(folder_ / "b.h5", lines);
  write_arrays(folder_ / "c.h5",
               "f['u'] = code(1, 6, 4, 6); f['q'] = code(1, 6, 4, 6)\n"
               "f['land'] = -code(6, 4); f['height'] = n.arange(4.) + 7");
  const auto several = open_array_store({folder_ / "b.h5", folder_ / "c.h5"}, options);
  EXPECT_EQ(several->samples(), 7);
  for (const Boxes& boxes : {Boxes{1, 2, 3}, Boxes{1, 4, 1}, Boxes{1, 1, 2}}) expect_boxes(*several, boxes);
  options.history = 2;
  options.ahead = 1;
  const auto rollouts = open_array_store({folder_ / "b.h5", folder_ / "c.h5"}, options, 3);
  expect_boxes(*rollouts, {1, 2, 2});
  const auto box = std::dynamic_pointer_cast<ArrayStore>(rollouts->part({{1, 2, 2}, {0, 1, 0}}));
  RolloutLayout expected = rollouts->rollout();
  expected.points /= 4;
  EXPECT_EQ(box->rollout(), expected);
}

TEST_F(ArrayBoxes, OfMasksAndMissingValues) {
  ArrayOptions options = one_array("/u", {"time", "y", "x", "channel"});
  options.inputs = {"/u", "/v"};
  options.targets = {"/v"};
  options.axes_of = {{"/v", {"time", "x", "y"}}, {"/sea", {"x", "y"}}};
  options.masks = {{"/u", "fill"}, {"/v", "/sea"}};
  options.missing = {"/v"};
  options.known_inputs = true;
  // No point of the first box of two along x counts in /v.
  const auto masked = store(
      "f['u'] = code(4, 2, 4, 2); f['v'] = code(4, 4, 2); f['sea'] = n.ones((4, 2)); f['sea'][:2] = 0\n"
      "f['u'][:, 0, 1, :] = n.nan; f['u'][:, 1, 3, 1] = n.nan; f['v'][1, 3, 0] = n.nan",
      options);
  for (const Boxes& boxes : {Boxes{1, 1, 2}, Boxes{1, 2, 2}, Boxes{1, 2, 1}}) expect_boxes(*masked, boxes);
  const SampleMask outside = masked->part({{1, 1, 2}, {0, 0, 0}})->mask();
  EXPECT_EQ(std::ranges::count(outside.targets, 0), 4);
}

TEST_F(ArrayBoxes, OfPlacesAndTimes) {
  ArrayOptions options = one_array("/u", {"time", "lat", "lon"});
  options.encodings = {Encoding::day_of_year, Encoding::latitude, Encoding::longitude};
  options.history = 2;
  const auto encoded = store(
      "f['u'] = code(6, 4, 6)\n"
      "for name, values, units in (('time', 5. * n.arange(6), 'days since 2001-01-01'),\n"
      "                            ('lat', 30. - 10 * n.arange(4), 'degrees_north'),\n"
      "                            ('lon', 60. * n.arange(6), 'degrees_east')):\n"
      "  f[name] = values; f[name].attrs['units'] = units; f[name].make_scale(name)\n"
      "for i, name in enumerate(('time', 'lat', 'lon')): f['u'].dims[i].attach_scale(f[name])",
      options);
  for (const Boxes& boxes : {Boxes{1, 2, 3}, Boxes{1, 4, 1}, Boxes{1, 1, 6}}) expect_boxes(*encoded, boxes);
  const auto box = encoded->part({{1, 2, 3}, {0, 1, 2}});
  EXPECT_EQ(box->axes()[0].values, (std::vector<double>{10, 0}));
  EXPECT_EQ(box->axes()[1].values, (std::vector<double>{240, 300}));
}

TEST_F(ArrayBoxes, KeepTheOrderOfChannels) {
  ArrayOptions options = one_array("/u", {"time", "y", "x"});
  options.inputs = {"/u", "/v"};
  options.targets = {"/u", "/v"};
  const auto ordered = store("f['u'] = code(3, 2, 2); f['v'] = -code(3, 2, 2)", options);
  ordered->reorder({1, 0}, {1, 0});
  expect_boxes(*ordered, {1, 2, 1});
  EXPECT_EQ(ordered->part({{1, 2, 1}, {0, 0, 0}})->input_names(), (std::vector<std::string>{"v", "u"}));
}

TEST_F(ArrayBoxes, ReadNoOtherPointsAndNeedNoMemoryForThem) {
  const ArrayOptions options = one_array("/u", {"time", "y", "x"});
  // A value outside the box is not finite: the whole sample is refused, the box is not.
  const auto bad = store("f['u'] = code(3, 4, 4); f['u'][1, 3, 3] = n.nan", options);
  EXPECT_TRUE(test::refuses(errors::not_finite, {"/u[1, 3, 3]"}, [&] { (void)inputs_of(*bad, 1); }));
  EXPECT_EQ(inputs_of(*bad->part({{1, 2, 2}, {0, 0, 1}}), 1).front(), coded(1, 0, 2));
  EXPECT_TRUE(test::refuses(errors::not_finite, {"/u[1, 3, 3]"}, [&] {
    (void)inputs_of(*bad->part({{1, 2, 2}, {0, 1, 1}}), 1);
  }));
  const auto whole = store("f['u'] = n.ones((2, 512, 512), 'f4')", options);
  constexpr std::int64_t level = 512 * 512 * 4;  // bytes
  EXPECT_GT(whole->reading_bytes(), 2 * level);
  const auto box = whole->part({{1, 8, 8}, {}});
  EXPECT_LT(box->reading_bytes(), level + whole->reading_bytes() / 2);
  EXPECT_EQ(inputs_of(*whole, 0).back(), 1);
  whole->release();
  EXPECT_EQ(inputs_of(*box, 0).back(), 1);
  EXPECT_EQ(inputs_of(*whole, 0).back(), 1);  // takes its memory again
}

TEST_F(ArrayBoxes, RefuseUnevenGridsOthersAndStatistics) {
  const auto plane = store("f['u'] = code(4, 4, 6)", one_array("/u", {"time", "y", "x"}));
  const auto refusal_of = [&](const Boxes& boxes, const char* text) {
    return test::refuses(errors::bad_value, {"mesh.space", text}, [&] { (void)plane->part({boxes, {}}); });
  };
  EXPECT_TRUE(refusal_of({1, 3, 1}, "3 does not divide 4"));
  EXPECT_TRUE(refusal_of({1, 1, 4}, "[4, 6]"));
  EXPECT_TRUE(refusal_of({2, 1, 1}, "a grid of 2 axes"));
  ArrayOptions points = one_array("/u", {"time", "y", "x"});
  points.points_are_samples = true;
  EXPECT_TRUE(test::refuses(errors::bad_value, {"mesh.space", "no grid"}, [&] {
    (void)store("f['u'] = code(4, 4, 6)", points)->part({{1, 2, 1}, {}});
  }));
  const auto box = plane->part({{1, 2, 1}, {}});
  EXPECT_TRUE(test::refuses(errors::internal, {"whole samples"}, [&] { (void)box->identity(); }));
  EXPECT_TRUE(test::refuses(errors::internal, {"whole samples"}, [&] {
    (void)box->input_statistics({0, 1});
  }));
}

}  // namespace mylos::array_boxes_test
