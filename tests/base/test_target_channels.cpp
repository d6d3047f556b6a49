// The channels that names of targets stand for.
#include "mylos/base/numbers/target_channels.hpp"

#include <gtest/gtest.h>

#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/samples.hpp"
#include "support/said.hpp"

namespace mylos::target_channels_test {

std::vector<std::int64_t> channels_of(const std::vector<std::string>& targets, std::int64_t channels = 6) {
  return channels_of_targets("the test", targets, {"u", "wind[0]", "wind[1]", "windy", "flow/u", "/odd"},
                             channels);
}

TEST(TargetChannels, AreThoseOfArraysOrOfSingleNames) {
  using Channels = std::vector<std::int64_t>;
  EXPECT_EQ(channels_of({"/wind", "u"}), (Channels{1, 2, 0}));
  EXPECT_EQ(channels_of({"wind[1]"}), (Channels{2}));
  EXPECT_EQ(channels_of({"/flow/u", "/odd", "windy"}), (Channels{4, 5, 3}));
}

TEST(TargetChannels, AreRefusedIfTheyAreNotThereOrTwice) {
  const auto expect = [](const std::vector<std::string>& targets, std::int64_t channels, ErrorId id,
                         std::initializer_list<std::string_view> parts) {
    EXPECT_TRUE(
        test::says(test::refusal_of([&] { static_cast<void>(channels_of(targets, channels)); }), id, parts));
  };
  expect({"/win"}, 6, errors::unknown_name, {"the test", "\"/win\"", "similar", "windy"});
  expect({"wind["}, 6, errors::unknown_name, {"\"wind[\""});
  expect({"/wind", "wind[1]"}, 6, errors::bad_value, {"\"wind[1]\" twice"});
  expect({"u"}, 3, errors::data_mismatch, {"6 names", "3 channels"});
}

}  // namespace mylos::target_channels_test
