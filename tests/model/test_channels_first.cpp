// The channels-first layout against loops over points and channels.
#include "mylos/model/parameters/channels_first.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "mylos/model/network/make_chain.hpp"

namespace mylos::channels_first_test {

using Dims = std::vector<std::int64_t>;

TEST(ChannelsFirst, OfAChainAreItsConvolutionsAndTheDenseLayersOnAGrid) {
  ModelOptions model;
  model.type = ModelType::chain;
  model.shape = {6, 4, 2};
  model.inputs = 48;
  model.outputs = 3;
  model.chain = {
      {.kind = kinds::Conv{.kernel = {3, 1}, .padding = {1, 0}}, .name = "first", .outputs = 6},
      {.kind = kinds::Conv{.kernel = {3}, .groups = 3}, .name = "grouped", .outputs = 6, .repeat = 2},
      {.kind = kinds::Conv{.kernel = {2}, .stride = {2}, .padding = {0}, .transposed = true},
       .name = "back",
       .outputs = 4},
      {.kind = kinds::MaxPool{}, .name = "pool"},
      {.kind = kinds::Dense{}, .name = "flat", .outputs = 5, .norm = NormType::layernorm},
      {.kind = kinds::Dense{}, .name = "head"}};
  const auto layouts = channels_first_parameters(model, make_chain(model, {}, 1, false));
  ASSERT_EQ(layouts.size(), 5u);
  EXPECT_EQ(layouts.at("first/weight").dims, (Dims{6, 2, 3, 1}));
  EXPECT_EQ(layouts.at("grouped.1/weight").dims, (Dims{6, 2, 3, 3}));
  EXPECT_EQ(layouts.at("grouped.2/weight").dims, (Dims{6, 2, 3, 3}));
  EXPECT_EQ(layouts.at("back/weight").dims, (Dims{6, 4, 2, 2}));
  EXPECT_EQ(layouts.at("flat/weight").dims, (Dims{5, 6 * 4 * 4}));
  EXPECT_EQ(layouts.at("flat/weight").points, 24);
  EXPECT_EQ(layouts.at("flat/weight").channels, 4);
}

TEST(ChannelsFirst, OfAnMlpIsTheFirstLayerOfImagesAlone) {
  ModelOptions model;
  model.hidden = {7};
  model.inputs = 12;
  model.outputs = 2;
  EXPECT_TRUE(channels_first_parameters(model, make_chain(model, {}, 1, false)).empty());
  model.shape = {2, 2, 3};
  const auto layouts = channels_first_parameters(model, make_chain(model, {}, 1, false));
  ASSERT_EQ(layouts.size(), 1u);
  EXPECT_EQ(layouts.at("hidden1/weight").dims, (Dims{7, 12}));
  EXPECT_EQ(layouts.at("hidden1/weight").points, 4);
}

TEST(ChannelsFirst, RowsAreTransposedThereAndBack) {
  const ChannelsFirst sample = channels_first_sample({3, 2, 5});
  EXPECT_EQ(sample.dims, (Dims{5, 3, 2}));
  std::vector<double> here(60);  // two rows
  std::iota(here.begin(), here.end(), 0.0);
  std::vector<double> there(60);
  to_channels_first(sample, std::span<const double>(here), std::span<double>(there));
  for (std::size_t row = 0; row < 2; ++row) {
    for (std::size_t point = 0; point < 6; ++point) {
      for (std::size_t channel = 0; channel < 5; ++channel)
        EXPECT_EQ(there[30 * row + channel * 6 + point], here[30 * row + point * 5 + channel]);
    }
  }
  std::vector<double> back(60);
  from_channels_first(sample, std::span<const double>(there), std::span<double>(back));
  EXPECT_EQ(back, here);
}

}  // namespace mylos::channels_first_test
