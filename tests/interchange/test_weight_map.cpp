#include "mylos/interchange/weight_map.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/interchange/tensor_names.hpp"
#include "support/refusal.hpp"

namespace mylos::weight_map_test {

TEST(WeightMap, LinesOfAnotherFormAreRefusedWithTheirNumber) {
  const auto refused = [](const std::string& text, ErrorId id,
                          std::initializer_list<std::string_view> parts) {
    return test::refuses(id, parts, [&] { static_cast<void>(parse_weight_map(text, "map.txt")); });
  };
  EXPECT_TRUE(refused("# nothing\n\nalone\n", errors::bad_row, {"map.txt:3: "}));
  EXPECT_TRUE(refused("a b c d", errors::bad_row, {"map.txt:1: "}));
  EXPECT_TRUE(refused("a b mirrored", errors::bad_row, {"map.txt:1: ", "'mirrored'", "'transposed'"}));
  EXPECT_TRUE(refused("a - transposed", errors::bad_row, {"map.txt:1: "}));
  EXPECT_TRUE(refused("\"a b", errors::bad_row, {"map.txt:1: ", "quote"}));
  EXPECT_TRUE(refused("[table]\n", errors::bad_row, {"map.txt:1: "}));
  EXPECT_TRUE(refused("a x/y\nb z/y\na z/w", errors::duplicate_key, {"map.txt:3: ", "'a'", "map.txt:1"}));
  EXPECT_TRUE(refused("a x/y\nb x/y", errors::duplicate_key, {"map.txt:2: ", "'x/y'", "map.txt:1"}));
}

TEST(WeightMap, BothFormsSayTheSame) {
  const std::vector<MapLine> lines = parse_weight_map(
      "a.b  x/weight transposed # last\r\n\"a b\" = \"x/bias\"\nc.d='y/weight channels_last'\ne -\n", "m");
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0].theirs, "a.b");
  EXPECT_EQ(lines[0].ours, "x/weight");
  EXPECT_EQ(lines[0].kind, FormKind::transposed);
  EXPECT_EQ(lines[1].theirs, "a b");
  EXPECT_EQ(lines[1].ours, "x/bias");
  EXPECT_EQ(lines[2].theirs, "c.d");
  EXPECT_EQ(lines[2].kind, FormKind::channels_last);
  EXPECT_EQ(lines[3].ours, "");
  EXPECT_EQ(lines[3].where, "m:4");
}

TEST(WeightMap, AByteOrderMarkIsSkipped) {
  const std::vector<MapLine> lines = parse_weight_map(
      "\xEF\xBB\xBF"
      "a x/weight\n",
      "m");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].theirs, "a");
}

TEST(TensorNames, AreComparedByTheirNumbers) {
  EXPECT_TRUE(is_before_by_number("layer.2", "layer.10"));
  EXPECT_FALSE(is_before_by_number("layer.10", "layer.2"));
  EXPECT_TRUE(is_before_by_number("layer.2", "layer.2.x"));
  EXPECT_FALSE(is_before_by_number("a.7", "a.07"));
  EXPECT_EQ(pattern_of_name("layer2.10.conv1"), "layer#.#.conv#");
  EXPECT_EQ(parts_of_name("a.b.running_var").name, "running_variance");
  EXPECT_EQ(parts_of_name("weight").layer, "");
}

TEST(TensorNames, TheLayersOfNeuraloperatorAreInTheOrderOfTheNetwork) {
  std::vector<std::string> layers{"projection.fcs.0",
                                  "fno_blocks.channel_mlp_skips.0",
                                  "fno_blocks.channel_mlp.0.fcs.0",
                                  "fno_blocks.convs.1",
                                  "fno_blocks.convs.0",
                                  "fno_blocks.fno_skips.0.conv",
                                  "lifting.fcs.0",
                                  "fno_blocks.norm.0"};
  std::stable_sort(layers.begin(), layers.end(), [](const std::string& a, const std::string& b) {
    return position_in_fno(a) < position_in_fno(b);
  });
  EXPECT_THAT(layers, testing::ElementsAre("lifting.fcs.0", "fno_blocks.fno_skips.0.conv",
                                           "fno_blocks.convs.0", "fno_blocks.norm.0",
                                           "fno_blocks.channel_mlp.0.fcs.0", "fno_blocks.channel_mlp_skips.0",
                                           "fno_blocks.convs.1", "projection.fcs.0"));
}

}  // namespace mylos::weight_map_test
