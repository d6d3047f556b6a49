// run.initial and [initial], and mistakes in them.
#include <gtest/gtest.h>

#include "config/deck_builders.hpp"
#include "mylos/base/errors/deck.hpp"
#include "support/said.hpp"

namespace mylos::testing::initial_keys_test {

constexpr std::string_view file = "run.initial = \"base.h5\"\n";

TEST(InitialKeys, AreReadInTheirOrderAndBackFromTheResolvedDeck) {
  const Deck deck = read_with(std::string(file) + R"(
[initial]
include = "hidden*"
exclude = ["*/bias", "hidden3/*"]
missing = "draw"
average = true
ignore = ["model.activation", "model.layers.*"]
[[initial.rename]]
from = "encoder.*.*"
to = "hidden*/*"
[[initial.rename]]
from = "top"
to = "head/weight"
)");
  const InitialOptions expected{{"hidden*"},
                                {"*/bias", "hidden3/*"},
                                MissingWeights::draw,
                                {{"encoder.*.*", "hidden*/*"}, {"top", "head/weight"}},
                                true,
                                {"model.activation", "model.layers.*"}};
  EXPECT_EQ(deck.options.run.initial, "base.h5");
  EXPECT_EQ(deck.options.initial, expected);
  EXPECT_EQ(read_deck(deck.resolved, "resolved.toml", {}).options.initial, expected);
  EXPECT_EQ(deck.places.at("initial.exclude"), "deck.toml:7");
  EXPECT_EQ(deck.places.at("initial.rename.2"), "deck.toml:14");
  EXPECT_EQ(read_with("").options.initial.include, std::vector<std::string>{"*"});
}

TEST(InitialKeys, ARunThatDrawsAllHasNone) {
  const Deck deck = read_with("");
  EXPECT_EQ(deck.resolved.find("initial ="), std::string::npos);
  EXPECT_EQ(deck.resolved.find("include"), std::string::npos);
  EXPECT_TRUE(test::says(message_of(std::string(smallest) + "[initial]\nmissing = \"draw\""),
                         errors::key_without_effect, {"deck.toml:4:", "'initial.missing'", "run.initial"}));
  EXPECT_TRUE(test::says(message_of(std::string(smallest) + "[initial]\naverage = true"),
                         errors::key_without_effect, {"deck.toml:4:", "'initial.average'", "run.initial"}));
  EXPECT_TRUE(test::says(message_of(std::string(smallest) + "[initial]\nignore = 'model.norm'"),
                         errors::key_without_effect, {"deck.toml:4:", "'initial.ignore'", "run.initial"}));
}

TEST(InitialKeys, AMistakeIsToldWithItsLine) {
  struct Mistake {
    std::string table;
    std::string found;
    ErrorId id;
  };
  const std::vector<Mistake> mistakes{
      {"from = 'a'", "a table without 'to'", errors::missing_key},
      {"to = 'a'", "a table without 'from'", errors::missing_key},
      {"from = 3\nto = 'a'", "a table with from = 3, which must be a name, '*' for any characters",
       errors::bad_value},
      {"from = 'a'\nto = 'b*'", "\"b*\" for 'to', which has more stars than 'from' = \"a\"",
       errors::bad_value},
      {"from = 'a'\nto = 'b'\nas = 'c'", "a table with 'as', which is none of \"from\" or \"to\"",
       errors::unknown_key}};
  for (const auto& [rule, found, id] : mistakes) {
    const std::string message = message_of(std::string(file) + "[[initial.rename]]\n" + rule);
    EXPECT_TRUE(test::says(message, id, {"deck.toml:2:", "'initial.rename'", found}));
  }
  EXPECT_TRUE(test::says(message_of("run.initial = 3"), errors::bad_value, {"not the integer 3"}));
  EXPECT_TRUE(test::says(message_of("initial.include = ['a', 3]"), errors::bad_value, {"not the integer 3"}));
  EXPECT_TRUE(test::says(message_of("initial.missing = 'drw'"), errors::bad_value, {"\"draw\""}));
}

}  // namespace mylos::testing::initial_keys_test
