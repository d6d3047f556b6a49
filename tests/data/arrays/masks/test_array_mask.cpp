#include <gtest/gtest.h>

#include "data/arrays/array_builders.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/data/coordinates/sample_mask.hpp"
#include "support/refusal.hpp"

namespace mylos {
namespace {

using namespace testing_support;

// Points 0 to 5 of /u, with two channels; the second channel has no value at point 4, neither at point 1.
constexpr const char* masked_lines =
    "f['u'] = n.arange(60.0).reshape(5, 2, 3, 2); f['sea'] = n.ones((2, 3, 2))\n"
    "f['sea'][0, 1, :] = 0; f['sea'][1, 1, 1] = n.nan\n"
    "f['u'][:, 0, 1, :] = n.nan; f['u'][:, 1, 1, 1] = 1e38";

ArrayOptions masked(const char* mask) {
  ArrayOptions options = one_array("/u", {"time", "y", "x", "channel"});
  options.mask = mask;
  return options;
}

TEST(ArrayMask, LeavesOutWhatAnArrayOrMissingValuesSay) {
  const TemporaryFolder folder;
  write_arrays(folder / "a.h5", masked_lines);
  const auto store = open_array_store({folder / "a.h5"}, masked("/sea"));
  const std::vector<std::uint8_t> expected{1, 1, 0, 0, 1, 1, 1, 1, 1, 0, 1, 1};
  EXPECT_EQ(store->mask().inputs, expected);
  EXPECT_EQ(store->mask().targets, expected);
  const std::vector<float> inputs = inputs_of(*store, 1);
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(inputs[i], expected[i] == 0 ? 0.0f : 12.0f + static_cast<float>(i)) << i;
  const ColumnStatistics statistics = store->input_statistics({0, 2});
  // Of levels 0 to 2: the first channel at five points, the second at four.
  EXPECT_DOUBLE_EQ(statistics.mean[0], 12 + (0 + 4 + 6 + 8 + 10) / 5.0);
  EXPECT_DOUBLE_EQ(statistics.mean[1], 12 + (1 + 5 + 7 + 11) / 4.0);
  EXPECT_EQ(statistics.maximum[1], 35);
  write_arrays(folder / "b.h5", "f['u'] = n.arange(60.0).reshape(5, 2, 3, 2)\nf['u'][:, 0, 1, 0] = n.nan");
  EXPECT_EQ(open_array_store({folder / "b.h5"}, masked("fill"))->mask().inputs,
            (std::vector<std::uint8_t>{1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1}));
}

TEST(ArrayMask, RefusesWhatMovesCoversAllOrDiffers) {
  const TemporaryFolder folder;
  write_arrays(folder / "moves.h5",
               "f['u'] = n.arange(60.0).reshape(5, 2, 3, 2)\nf['u'][:2, 0, 1, 0] = n.nan");
  const auto moves = open_array_store({folder / "moves.h5"}, masked("fill"));
  EXPECT_TRUE(test::refuses(errors::data_mismatch, {"/u[2, 0, 1, 0]"}, [&] { (void)inputs_of(*moves, 2); }));
  write_arrays(folder / "grows.h5",
               "f['u'] = n.arange(60.0).reshape(5, 2, 3, 2)\nf['u'][1:, 0, 1, 0] = n.nan");
  const auto grows = open_array_store({folder / "grows.h5"}, masked("fill"));
  EXPECT_TRUE(test::refuses(errors::not_finite, {"/u[1, 0, 1, 0]"}, [&] { (void)inputs_of(*grows, 1); }));
  write_arrays(folder / "a.h5", masked_lines);
  write_arrays(folder / "z.h5", std::string(masked_lines) + "\nf['sea'][1, 2, 0] = 0");
  EXPECT_TRUE(test::refuses(errors::data_mismatch, {"z.h5", "/sea"},
                            [&] { (void)open_array_store({folder / "[az].h5"}, masked("/sea")); }));
  write_arrays(folder / "none.h5", std::string(masked_lines) + "\nf['sea'][:, :, 1] = 0");
  EXPECT_TRUE(test::refuses(errors::bad_value, {"none.h5", "/u[1]"},
                            [&] { (void)open_array_store({folder / "none.h5"}, masked("/sea")); }));
}

TEST(MaskSummaries, AreComparedAndReadBack) {
  const std::vector<MaskSummary> masks{summary_of("/u", {1, 0, 1}), summary_of("/a b", {1, 1})};
  EXPECT_EQ(masks[0].counting, 2);
  EXPECT_EQ(masks_of_text(text_of_masks(masks), "file"), masks);
  EXPECT_TRUE(test::refuses(errors::damaged, {"file"}, [] { (void)masks_of_text("1 2 3", "file"); }));
  EXPECT_NO_THROW(require_same_masks(masks, "a", {masks[1]}, "b"));
  EXPECT_TRUE(test::refuses(errors::data_mismatch, {"/u"}, [&] {
    require_same_masks(masks, "a", {summary_of("/u", {1, 1, 0})}, "b");
  }));
  EXPECT_TRUE(test::refuses(errors::data_mismatch, {"/v"},
                            [&] { require_same_masks(masks, "a", {summary_of("/v", {1})}, "b"); }));
}

}  // namespace
}  // namespace mylos
