#include "mylos/data/files/meaning/sample_meaning.hpp"

#include <gtest/gtest.h>

#include "data/builders.hpp"
#include "mylos/base/errors/data.hpp"
#include "support/said.hpp"

namespace mylos::sample_meaning_test {

using namespace testing_support;

constexpr std::int64_t samples = 12;

/// measured() in each column, with the names `names` (a line of Python each).
Dataset table(const std::string& path, const std::string& more, std::int64_t columns = 3) {
  write_table(path, samples, columns, 2);
  python("import h5py, numpy as n\nf = h5py.File('" + path + "', 'a')\n" + more);
  return Dataset(path);
}

TEST(SampleMeaning, ColumnsAreFoundByTheirNames) {
  const TemporaryFolder folder;
  const Dataset train = table(folder / "train.h5",
                              "f['input_names'] = ['T', 'p', 'q']\nf['target_names'] = ['lift', 'drag']\n");
  Dataset other = table(folder / "other.h5",
                        "f['input_names'] = ['q', 'T', 'p']\nf['target_names'] = ['drag', 'lift']\n");
  const std::string identity = other.identity();
  EXPECT_EQ(
      match_columns(meaning_of(train), other),
      (std::vector<std::string>{
          (folder / "other.h5") + ": its inputs are q, T, p; they are read by name in the order T, p, q",
          (folder / "other.h5") +
              ": its targets are drag, lift; they are read by name in the order lift, drag"}));
  EXPECT_EQ(other.input_names(), train.input_names());
  EXPECT_EQ(other.target_names(), train.target_names());
  std::vector<float> inputs(9);
  std::vector<float> targets(6);
  other.read_inputs(5, 3, inputs.data());
  other.read_targets(5, 3, targets.data());
  for (std::int64_t row = 0; row < 3; ++row) {
    for (std::int64_t i = 0; i < 3; ++i)
      EXPECT_EQ(inputs[static_cast<std::size_t>(3 * row + i)], measured(5 + row, other.stored_input(i)));
    for (std::int64_t i = 0; i < 2; ++i)
      EXPECT_EQ(targets[static_cast<std::size_t>(2 * row + i)],
                measured(5 + row, 3 + other.stored_target(i)));
  }
  EXPECT_EQ(other.stored_input(0), 1);
  EXPECT_EQ(other.stored_input(2), 0);
  EXPECT_EQ(other.stored_target(0), 1);
  EXPECT_EQ(other.identity(), identity) << "of what is stored";
  const ColumnStatistics as_stored = Dataset(folder / "other.h5").input_statistics();
  EXPECT_EQ(other.input_statistics().minimum[0], as_stored.minimum[1]);
}

TEST(SampleMeaning, NamesOfChannelsMoveThemAtEachPoint) {
  const TemporaryFolder folder;
  const std::string grid = "f.attrs['shape'] = '2 3 2'\n";
  const Dataset train = table(folder / "train.h5", grid + "f['input_names'] = ['u', 'v']\n", 12);
  Dataset other = table(folder / "other.h5", grid + "f['input_names'] = ['v', 'u']\n", 12);
  EXPECT_EQ(match_columns(meaning_of(train), other).size(), 1u);
  std::vector<float> inputs(12);
  other.read_inputs(4, 1, inputs.data());
  for (std::int64_t i = 0; i < 12; ++i)
    EXPECT_EQ(inputs[static_cast<std::size_t>(i)], measured(4, i % 2 == 0 ? i + 1 : i - 1));
}

TEST(SampleMeaning, StoredStatisticsMoveWithTheirColumns) {
  const TemporaryFolder folder;
  const Dataset train = table(folder / "train.h5", "f['input_names'] = ['T', 'p', 'q']\n");
  Dataset other =
      table(folder / "other.h5",
            "f['input_names'] = ['q', 'T', 'p']\n"
            "for name in 'mean', 'std', 'min', 'max':\n"
            "    f['statistics/inputs/' + name] = getattr(f['inputs'][:].astype('f8'), name)(0)\n");
  (void)match_columns(meaning_of(train), other);
  EXPECT_NEAR(other.input_statistics().mean[1], measured(0, 2), 16) << "they are compared in the same order";
}

TEST(SampleMeaning, WhoeverHasNoNamesIsTakenAsItLies) {
  const TemporaryFolder folder;
  const Dataset named = table(folder / "named.h5", "f['input_names'] = ['T', 'p', 'q']\n");
  Dataset plain = table(folder / "plain.h5", "");
  EXPECT_EQ(match_columns(meaning_of(named), plain),
            (std::vector<std::string>{(folder / "plain.h5") +
                                      ": does not name its inputs; they are read in the order T, p, q"}));
  EXPECT_EQ(plain.stored_input(2), 2);
  Dataset also_named = named;
  EXPECT_TRUE(match_columns(meaning_of(plain), also_named).empty());
  EXPECT_TRUE(match_columns(meaning_of(named), also_named).empty());
}

TEST(SampleMeaning, NamesMustBeThoseOfColumnsOrChannels) {
  const TemporaryFolder folder;
  const auto message = [&](const std::string& more) {
    const std::string path = folder / "some.h5";
    return test::refusal_of([&] { (void)table(path, more, 12); }).substr(path.size() + 2);
  };
  EXPECT_TRUE(test::says(message("f['input_names'] = ['T', 'p']\n"), errors::bad_names,
                         {"/input_names", "has 2", "expected 12"}));
  EXPECT_TRUE(test::says(message("f.attrs['shape'] = '2 3 2'\nf['input_names'] = ['T']\n"), errors::bad_names,
                         {"/input_names", "has 1", "expected 12", "or 2"}));
  EXPECT_TRUE(test::says(message("f['target_names'] = ['a', 'b', 'c']\n"), errors::bad_names,
                         {"/target_names", "has 3", "expected 2"}));
}

}  // namespace mylos::sample_meaning_test
