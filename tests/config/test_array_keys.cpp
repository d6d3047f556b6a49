// Files by patterns and lists, and [data.arrays].
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/deck_builders.hpp"

namespace mylos::testing::array_keys_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// A deck with arrays, then the lines: line 9 is the first of them.
std::string arrays(std::string_view lines) {
  return R"([run]
steps = 3
[model]
loss = "mse"
[data]
train = ["run0[0-7]/fields.h5", "last.h5"]
test = "run08/*.h5"
[data.arrays]
)" + std::string(lines);
}

constexpr std::string_view usual = R"(inputs = ["/u", "/v"]
targets = ["/u"]
axes = "time y x"
)";

Options options_of(std::string_view lines, const std::vector<std::string>& overrides = {}) {
  return read_deck(arrays(lines), "deck.toml", overrides).options;
}

std::string refusal_of(std::string_view lines) {
  return message_of(arrays(lines));
}

TEST(ArrayKeys, FilesAreANameAPatternOrAList) {
  const Options options = options_of(usual);
  EXPECT_EQ(options.data.train.names, (std::vector<std::string>{"run0[0-7]/fields.h5", "last.h5"}));
  EXPECT_EQ(options.data.test, DataFiles("run08/*.h5"));
  EXPECT_EQ(options_of(usual, {"data.train=[\"a.h5\", \"b.h5\"]"}).data.train.names,
            (std::vector<std::string>{"a.h5", "b.h5"}));
  EXPECT_EQ(options_of(usual, {"data.train=run[0-7].h5"}).data.train, DataFiles("run[0-7].h5"));
  EXPECT_EQ(options_of(usual, {"data.train=7"}).data.train, DataFiles("7"));
  for (const char* wrong : {"7", "[]", "['a.h5', 7]", "['a.h5', 'a.h5']", "''"}) {
    EXPECT_THAT(message_of("run.steps = 3\ndata.train = " + std::string(wrong)),
                AllOf(HasSubstr("deck.toml:2"), HasSubstr("'data.train' must be a path or pattern")))
        << wrong;
  }
}

TEST(ArrayKeys, EveryKeySetsItsOption) {
  const ArrayOptions options = options_of(R"(inputs = ["/u", "/group/v"]
targets = ["/u"]
constants = ["/mask"]
axes = { "/u" = "time y x", "/group/v" = "time y x channel", "/mask" = " y  x " }
history = 3
ahead = 2
every = 5
slice = { time = "100:", y = "::2", x = "-8:-1:3" }
targets_are = "difference"
points_are_samples = true
)")
                                   .data.arrays;
  EXPECT_EQ(options.inputs, (std::vector<std::string>{"/u", "/group/v"}));
  EXPECT_EQ(options.targets, std::vector<std::string>{"/u"});
  EXPECT_EQ(options.constants, std::vector<std::string>{"/mask"});
  EXPECT_TRUE(options.axes.empty());
  EXPECT_EQ(options.axes_for("/group/v"), (std::vector<std::string>{"time", "y", "x", "channel"}));
  EXPECT_EQ(options.axes_for("/mask"), (std::vector<std::string>{"y", "x"}));
  EXPECT_EQ(options.history, 3);
  EXPECT_EQ(options.ahead, 2);
  EXPECT_EQ(options.every, 5);
  EXPECT_EQ(options.slice, (std::vector<AxisSlice>{{.axis = "time", .begin = 100},
                                                   {.axis = "y", .step = 2},
                                                   {.axis = "x", .begin = -8, .end = -1, .step = 3}}));
  EXPECT_EQ(options.targets_are, TargetsAre::difference);
  EXPECT_TRUE(options.points_are_samples);
  EXPECT_FALSE(options.fill);
}

TEST(ArrayKeys, ConstantsLackTheAxesOfSamples) {
  const ArrayOptions options = options_of(R"(inputs = ["/u"]
targets = ["/u"]
constants = ["/mask"]
axes = "sample time y x"
)")
                                   .data.arrays;
  EXPECT_EQ(options.axes_for("/u"), (std::vector<std::string>{"sample", "time", "y", "x"}));
  EXPECT_EQ(options.axes_for("/mask"), (std::vector<std::string>{"y", "x"}));
}

TEST(ArrayKeys, TheResolvedDeckGivesTheSameOptions) {
  const Deck plain = read_deck(arrays(usual), "deck.toml", {});
  EXPECT_EQ(read_deck(plain.resolved, "resolved.toml", {}).options, plain.options) << plain.resolved;
  const Deck deck = read_deck(arrays(usual), "deck.toml",
                              {"data.fill=2.5", "data.statistics=sums.h5", "data.arrays.slice.time=5:9",
                               "data.arrays.axes./v=time x y", "data.arrays.history=2"});
  EXPECT_EQ(deck.options.data.arrays.fill, 2.5);
  EXPECT_EQ(deck.options.data.arrays.statistics, "sums.h5");
  EXPECT_EQ(deck.options.data.arrays.slice, (std::vector<AxisSlice>{{.axis = "time", .begin = 5, .end = 9}}));
  const Options read = read_deck(deck.resolved, "resolved.toml", {}).options;
  for (const char* array : {"/u", "/v"})
    EXPECT_EQ(read.data.arrays.axes_for(array), deck.options.data.arrays.axes_for(array));
  EXPECT_EQ(resolve(read), deck.resolved);
}

TEST(ArrayKeys, WrongValuesAreRefusedAtTheirLines) {
  const std::string most = "inputs = ['/u']\ntargets = ['/u']\n";
  struct Case {
    std::string line;
    std::string part;
  };
  for (const Case& wrong : std::vector<Case>{{"axes = 'time y y'", "\"time y y\""},
                                             {"axes = ''", "the string \"\""},
                                             {"axes = 'time 2d'", "\"time 2d\""},
                                             {"axes = { '/u' = 3 }", "the integer 3 for '/u'"},
                                             {"slice = { time = '5' }", "for 'time' (\"3:4\" is"},
                                             {"slice = { time = '5:x' }", "for 'time'"},
                                             {"slice = { time = '::0' }", "for 'time'"},
                                             {"slice = { time = '::-1' }", "for 'time'"},
                                             {"slice = { time = '1:2:3:4' }", "for 'time'"},
                                             {"slice = { time = '1:99999999999999999999' }", "for 'time'"},
                                             {"history = 0", "the integer 0"},
                                             {"ahead = -1", "the integer -1"},
                                             {"every = 0", "the integer 0"},
                                             {"targets_are = 'differences'", "did you mean \"difference\"?"},
                                             {"constants = ['/m', '/m']", "twice in the list"}}) {
    EXPECT_THAT(refusal_of(most + wrong.line + '\n'),
                AllOf(HasSubstr("deck.toml:11: 'data.arrays."), HasSubstr(wrong.part)))
        << wrong.line;
  }
}

TEST(ArrayKeys, KeysThatContradictEachOtherAreRefused) {
  const std::string axes = "axes = 'time y x'\n";
  struct Case {
    std::string lines;
    std::string part;
  };
  for (const Case& wrong : std::vector<Case>{
           {"inputs = ['/u']\n" + axes, "deck.toml:9: 'data.arrays.targets' is missing"},
           {"inputs = ['/u']\ntargets = ['/u']\n", "the axes of \"/u\" are missing"},
           {"inputs = ['/u']\ntargets = ['/w']\naxes = { '/u' = 'time y x' }\n",
            "deck.toml:11: the axes of \"/w\" are missing"},
           {"inputs = ['/u']\ntargets = ['/u']\naxes = { '/u' = 'time x', '/w' = 'time x' }\n",
            "deck.toml:11: 'data.arrays.axes' has an entry for \"/w\", which is none of"},
           {std::string(usual) + "constants = ['/u']\n", "\"/u\", which is also one of the inputs"},
           {"inputs = ['/u']\ntargets = ['/u']\nconstants = ['/m']\naxes = { '/u' = 'time x', '/m' = 'time "
            "x' "
            "}\n",
            "\"/m\" of 'data.arrays.constants' has the axis \"time\""},
           {"inputs = ['/u']\ntargets = ['/w']\naxes = { '/u' = 'time x', '/w' = 'x' }\n",
            "\"/u\" has the axis \"time\" but \"/w\" does not"},
           {"inputs = ['/u']\ntargets = ['/w']\naxes = { '/u' = 'time y x', '/w' = 'time x' }\n",
            "other axes of a grid (x, y and x)"},
           {"inputs = ['/u', '/s']\ntargets = ['/u']\naxes = { '/u' = 'time lat lon', '/s' = 'time z' }\n",
            "\"/u\" and \"/s\" have other axes of a grid (lat, lon and z)"},
           {"inputs = ['/u']\ntargets = ['/u']\naxes = 'time y x'\nmask = { '/w' = '/m' }\n",
            "\"/w\", which is none"},
           {"inputs = ['/u']\ntargets = ['/u']\naxes = { '/u' = 'time y x', '/w' = 'x z' }\n[data.weights]\n"
            "file = 'w.h5'\narray = '/w'\n",
            "\"/w\" of 'data.weights' has the axes x, z; expected those of the grid in any order: x, y"},
           {"inputs = ['/u']\ntargets = ['/u']\naxes = 'time w z y x'\n",
            "networks support at most 3. Only axes with the names"},
           {std::string(usual) + "slice = { z = '1:' }\n",
            "deck.toml:12: 'data.arrays.slice' has the axis \"z\", which no array has; the axes are time, x, "
            "y"},
           {"inputs = ['/u']\ntargets = ['/w']\ntargets_are = 'difference'\n" + axes,
            "among the inputs, and \"/w\" is not"},
           {std::string(usual) + "ahead = 0\ntargets_are = 'difference'\n", "above 0"},
           {"inputs = ['/u']\ntargets = ['/w', '/u']\ndifferences = ['/u', '/w']\n" + axes,
            "among the inputs, and \"/w\" is not"},
           {std::string(usual) + "ahead = 0\ndifferences = ['/u']\n", "'data.arrays.differences' needs"},
           {std::string(usual) + "differences = ['/v']\n", "\"/v\", which is none of the targets"},
           {std::string(usual) + "targets_are = 'difference'\ndifferences = ['/u']\n",
            "targets_are = \"state\""}}) {
    EXPECT_THAT(refusal_of(wrong.lines), HasSubstr(wrong.part)) << wrong.lines;
  }
  EXPECT_EQ(
      refusal_of("inputs = ['/u']\ntargets = ['/u']\naxes = 'time w z y x'\npoints_are_samples = true\n"),
      "");
  EXPECT_EQ(
      refusal_of("inputs = ['/u', '/s']\ntargets = ['/u']\naxes = { '/u' = 'time lat lon', '/s' = 'time' }\n"
                 "mask = 'fill'\n"),
      "");
}

TEST(ArrayKeys, SectionsThatAnEqualsSignLeavesEmptyAreRefused) {
  const std::string deck = "run.steps = 3\n[data]\ntrain = 'a.h5'\n";
  EXPECT_THAT(message_of(deck + "weights = {}\n"),
              AllOf(HasSubstr("deck.toml:4: 'data.weights'"), HasSubstr("{}"), HasSubstr("leave it out")));
  EXPECT_THAT(message_of(deck + "[data.weights]\n"), Not(HasSubstr("weights")));
}

TEST(ArrayKeys, KeysWithoutEffectAreRefused) {
  EXPECT_THAT(message_of("run.steps = 3\ndata.train = 'a.h5'\ndata.fill = 0\n"),
              HasSubstr("deck.toml:3: 'data.fill' has an effect only with data.arrays.inputs"));
  EXPECT_THAT(message_of("run.steps = 3\ndata.train = 'a.h5'\ndata.statistics = 'b.h5'\n"),
              HasSubstr("'data.statistics' has an effect only with data.arrays.inputs"));
  EXPECT_THAT(message_of("run.steps = 3\ndata.train = 'a.h5'\ndata.arrays.history = 2\n"),
              HasSubstr("'data.arrays.history' has an effect only with data.arrays.inputs"));
  EXPECT_THAT(message_of("run.steps = 3\nmodel.inputs = 3\nmodel.outputs = 3\ndata.arrays.inputs = ['/u']\n"),
              HasSubstr("'data.arrays.inputs' has an effect only with data.train"));
  const std::string table = "inputs = ['/a']\ntargets = ['/b']\naxes = 'sample channel'\n";
  EXPECT_EQ(refusal_of(table), "");
  for (const char* line : {"history = 2\n", "ahead = 3\n", "every = 2\n"})
    EXPECT_THAT(refusal_of(table + line), HasSubstr("has an effect only with an axis \"time\"")) << line;
  EXPECT_THAT(refusal_of(table + "points_are_samples = true\n"),
              HasSubstr("has an effect only with axes of a grid"));
  EXPECT_THAT(
      message_of("run.steps = 3\ndata.train = 'a.h5'\nmodel.type = 'gpt'\ndata.arrays.inputs = ['/u']\n"
                 "model.layers = 1\nmodel.heads = 1\nmodel.width = 4\nmodel.context = 4\n"),
      HasSubstr("'data.arrays.inputs' has an effect only with model.type"));
}

}  // namespace mylos::testing::array_keys_test
