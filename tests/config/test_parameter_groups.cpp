// [[optimizer.groups]] and mistakes in it.
#include <gtest/gtest.h>

#include "config/deck_builders.hpp"
#include "mylos/base/errors/deck.hpp"
#include "support/said.hpp"

namespace mylos::testing::parameter_groups_test {

TEST(ParameterGroups, AreReadInTheirOrder) {
  const Options options = read_with(R"(
[[optimizer.groups]]
match = "hidden1/*"
lr_factor = 0.5
[[optimizer.groups]]
match = ["*/bias", "head/weight"]
weight_decay = 0
frozen = true
)")
                              .options;
  const std::vector<ParameterGroup> expected{{{"hidden1/*"}, 0.5, {}, {}},
                                             {{"*/bias", "head/weight"}, {}, 0.0, true}};
  EXPECT_EQ(options.optimizer.groups, expected);
  const Options replaced = read_with("[[optimizer.groups]]\nmatch = \"a\"\nfrozen = true\n",
                                     {"optimizer.groups=[{match = \"b\", lr_factor = 2}]"})
                               .options;
  EXPECT_EQ(replaced.optimizer.groups, (std::vector<ParameterGroup>{{{"b"}, 2.0, {}, {}}}));
}

TEST(ParameterGroups, AMistakeIsToldWithTheLineOfItsGroup) {
  struct Mistake {
    std::string table;
    std::string found;
    ErrorId id;
  };
  const std::vector<Mistake> mistakes{
      {"frozen = true", "a table without 'match'", errors::missing_key},
      {"match = []\nfrozen = true", "a table without 'match'", errors::missing_key},
      {"match = 'a'", "a table that says nothing but 'match'", errors::bad_value},
      {"match = 3", "a table with match = 3, which must be a name or list of names, '*' for any characters",
       errors::bad_value},
      {"match = ['a', '']",
       "a table with 'match', which must be a name or list of names, '*' for any characters, not the "
       "string \"\"",
       errors::bad_value},
      {"match = 'a'\nfrozen = 1", "a table with frozen = 1, which must be true or false", errors::bad_value},
      {"match = 'a'\nlr_factor = 0",
       "a table with lr_factor = 0, which must be a number above 0 and at most 1000", errors::bad_value},
      {"match = 'a'\nweight_decay = -1",
       "a table with weight_decay = -1, which must be a number from 0 to 1000", errors::bad_value},
      {"match = 'a'\nlr_factor = 1e-50",
       "a table with 'lr_factor', which must be a number above 0 and at most 1000, not the number 1e-50, "
       "which "
       "is 0 in float",
       errors::bad_value},
      {"match = 'a'\nlr_facto = 1", "a table with 'lr_facto'; did you mean 'lr_factor'?",
       errors::unknown_key}};
  const std::string good = "[[optimizer.groups]]\nmatch = 'x'\nfrozen = true\n";
  for (const auto& [group, found, id] : mistakes) {
    const std::string message = message_of(good + "[[optimizer.groups]]\n" + group);
    EXPECT_TRUE(test::says(message, id, {"deck.toml:4:", "'optimizer.groups'", found}));
  }
  EXPECT_TRUE(test::says(message_of("[optimizer.groups]\nmatch = 'a'"), errors::bad_value, {"not a table"}));
  EXPECT_TRUE(test::says(message_of("optimizer.groups = 'a'"), errors::bad_value, {"not the string \"a\""}));
}

}  // namespace mylos::testing::parameter_groups_test
