// [[model.initialize]] and mistakes in it.
#include <gtest/gtest.h>

#include "config/deck_builders.hpp"
#include "mylos/base/errors/deck.hpp"
#include "support/said.hpp"

namespace mylos::testing::initialize_key_test {

TEST(InitializeKey, IsReadInItsOrderAndBackFromTheResolvedDeck) {
  const Deck deck = read_with(R"(
[[model.initialize]]
match = "hidden*/weight"
kind = "he_normal"
[[model.initialize]]
match = ["head/weight", "a"]
kind = "orthogonal"
gain = 0.5
[[model.initialize]]
match = "*/bias"
kind = "constant"
value = -1
)");
  const std::vector<InitialRule> expected{
      {.match = {"hidden*/weight"}, .kind = Initializer::he_normal},
      {.match = {"head/weight", "a"}, .kind = Initializer::orthogonal, .gain = 0.5},
      {.match = {"*/bias"}, .kind = Initializer::constant, .value = -1}};
  EXPECT_EQ(deck.options.model.initialize, expected);
  EXPECT_EQ(read_deck(deck.resolved, "resolved.toml", {}).options.model.initialize, expected);
}

TEST(InitializeKey, EveryKindIsWrittenAsItIsRead) {
  for (const std::string kind : {"xavier_uniform", "xavier_normal", "he_uniform", "he_normal", "orthogonal",
                                 "normal", "uniform", "constant"}) {
    const std::string name = kind == "normal"     ? "std"
                             : kind == "uniform"  ? "bound"
                             : kind == "constant" ? "value"
                                                  : "gain";
    const Deck deck =
        read_with("[[model.initialize]]\nmatch = 'a'\nkind = '" + kind + "'\n" + name + " = 0.5");
    EXPECT_NE(deck.resolved.find("\nkind = \"" + kind + "\"\n" + name + " = 0.5\n"), std::string::npos)
        << deck.resolved;
    EXPECT_EQ(read_deck(deck.resolved, "resolved.toml", {}).options, deck.options);
  }
}

TEST(InitializeKey, AMistakeIsToldWithTheLineOfItsTable) {
  const std::string kinds =
      "\"xavier_uniform\", \"xavier_normal\", \"he_uniform\", \"he_normal\", \"orthogonal\", \"normal\", "
      "\"uniform\" or \"constant\"";
  struct Mistake {
    std::string table;
    std::string found;
    ErrorId id;
  };
  const std::vector<Mistake> mistakes{
      {"kind = 'orthogonal'", "a table without 'match'", errors::missing_key},
      {"match = 'a'", "a table without 'kind', which is one of " + kinds, errors::missing_key},
      {"match = 'a'\nkind = 'he_norml'",
       "a table with kind = \"he_norml\", which must be " + kinds + "; did you mean \"he_normal\"?",
       errors::bad_value},
      {"match = 'a'\nkind = 'normal'", "a table without 'std', which kind = \"normal\" needs",
       errors::missing_key},
      {"match = 'a'\nkind = 'normal'\nstd = 0",
       "a table with std = 0, which must be a number above 0 and at most 1000", errors::bad_value},
      {"match = 'a'\nkind = 'normal'\nstd = 1\ngain = 1",
       "a table with 'gain', which only kind = \"xavier_uniform\", \"xavier_normal\", \"he_uniform\", "
       "\"he_normal\" or \"orthogonal\" has",
       errors::key_without_effect},
      {"match = 'a'\nkind = 'he_normal'\nstd = 1", "a table with 'std', which only kind = \"normal\" has",
       errors::key_without_effect},
      {"match = 'a'\nkind = 'he_normal'\ngai = 1", "a table with 'gai'; did you mean 'gain'?",
       errors::unknown_key},
      {"match = 3", "a table with match = 3, which must be a name or list of names, '*' for any characters",
       errors::bad_value}};
  for (const auto& [rule, found, id] : mistakes) {
    const std::string message = message_of("[[model.initialize]]\n" + rule);
    EXPECT_TRUE(test::says(message, id, {"deck.toml:1:", "'model.initialize'", found}));
  }
}

}  // namespace mylos::testing::initialize_key_test
