// Boxes of prepared samples.
#include "mylos/data/files/store_of_boxes.hpp"

#include <gtest/gtest.h>

#include "data/box_builders.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/data/files/concatenated_store.hpp"
#include "support/refusal.hpp"

namespace mylos::store_of_boxes_test {

using namespace testing_support;

TEST(StoreOfBoxes, ReadsThoseOfPreparedFiles) {
  const TemporaryFolder folder;
  const Dataset one(write_grid(folder / "a.h5", 9, 72));
  for (const auto& boxes : {std::array<std::int64_t, 3>{1, 2, 3}, {1, 4, 1}, {1, 1, 2}})
    expect_boxes(one, boxes);
  EXPECT_EQ(one.part({{1, 2, 3}, {0, 1, 2}})->location_of_input(4, 3),
            one.location_of_input(4, (2 * 6 + 5) * 2 + 1));
  const Dataset volume(write_grid(folder / "v.h5", 3, 24, "2 2 6 2"));
  expect_boxes(volume, {2, 1, 3});
  const auto line = one.part({{1, 1, 3}, {0, 0, 1}}, {24, 2});  // the deck has data.shape
  const std::vector<float> sample = inputs_of(one, 4);
  EXPECT_EQ(inputs_of(*line, 4), std::vector<float>(sample.begin() + 16, sample.begin() + 32));
  write_grid(folder / "b.h5", 5, 72);
  const ConcatenatedStore several({folder / "a.h5", folder / "b.h5"}, "ab", GroundTruth::required);
  expect_boxes(several, {1, 2, 2});
  const auto box = several.part({{1, 2, 2}, {0, 1, 0}});
  EXPECT_EQ(inputs_of(*box, 3, 10).size(), 10u * 12);
  EXPECT_EQ(box->reading_bytes() - several.reading_bytes(),
            (std::int64_t{1} << 20) / (72 * 4) * (72 * 4));  // whole rows
}

TEST(StoreOfBoxes, ReadsMoreRowsThanItsBufferHolds) {
  const TemporaryFolder folder;
  const std::int64_t columns = 64 * 64;  // 64 rows fill the buffer
  write_table(folder / "a.h5", 150, columns, columns);
  const Dataset whole(folder / "a.h5");
  const auto box = whole.part({{1, 2, 1}, {0, 1, 0}}, {64, 64, 1});  // the deck has data.shape
  const std::vector<float> inputs = inputs_of(*box, 1, 140);
  for (const std::int64_t sample : {0, 63, 64, 139})
    for (const std::int64_t column : {0, 2047})
      EXPECT_EQ(inputs[static_cast<std::size_t>(sample * 2048 + column)],
                measured(1 + sample, 2048 + column));
}

TEST(StoreOfBoxes, ReadsTheTruthOfWholeSamples) {
  const TemporaryFolder folder;
  const GridPart part{{1, 2, 1}, {0, 1, 0}};
  const Dataset vectors(write_grid(folder / "a.h5", 5, 24));  // as many targets as points
  const auto of_box = vectors.part(part, {}, true);
  EXPECT_EQ(of_box->features() * 2, vectors.features());
  ASSERT_EQ(of_box->outputs(), 24);
  std::vector<float> own(3 * 24), whole(3 * 24);
  of_box->read_targets(2, 3, own.data());
  vectors.read_targets(2, 3, whole.data());
  EXPECT_EQ(own, whole);
  EXPECT_EQ(of_box->target_names(), vectors.target_names());
  EXPECT_EQ(of_box->location_of_target(2, 23), vectors.location_of_target(2, 23));
  write_images(folder / "c.h5", 4, 36, 3);
  const Dataset images(folder / "c.h5");
  const auto labelled = images.part(part, {6, 6, 1}, true);
  EXPECT_EQ(labelled->features(), 18);
  EXPECT_EQ(labelled->outputs(), 3);
  std::vector<std::int32_t> labels(4), expected(4);
  labelled->read_labels(0, 4, labels.data());
  images.read_labels(0, 4, expected.data());
  EXPECT_EQ(labels, expected);
}

TEST(StoreOfBoxes, RefusesTargetsThatDoNotLieOnTheGrid) {
  const TemporaryFolder folder;
  const auto refusal_of = [&](const Dataset& whole, const char* text) {
    return test::refuses(errors::bad_value, {"mesh.space", text}, [&] { (void)whole.part({{1, 2, 1}, {}}); });
  };
  EXPECT_TRUE(refusal_of(Dataset(write_grid(folder / "a.h5", 3, 6)), "6 targets"));
  EXPECT_TRUE(refusal_of(Dataset(write_grid(folder / "b.h5", 3, 24, nullptr)), "no grid"));
  write_images(folder / "c.h5", 4, 36, 3);
  EXPECT_TRUE(test::refuses(errors::bad_value, {"mesh.space", "labels"}, [&] {
    (void)Dataset(folder / "c.h5").part({{1, 2, 1}, {}}, {6, 6, 1});
  }));
}

}  // namespace mylos::store_of_boxes_test
