#include "mylos/data/feed/evaluation_reader.hpp"

#include <gtest/gtest.h>

#include "data/builders.hpp"

namespace mylos::evaluation_reader_test {

using namespace testing_support;

/// For all samples of a file, on one rank of two.
OutsideRange outside_of(const Dataset& data, const Normalizer& normalizer, int rank, bool counts = true) {
  EvaluationReader reader(data, {0, data.samples()}, normalizer,
                          {.max_samples = 3, .rank = rank, .ranks = 2, .counts_outside = counts});
  OutsideRange found;
  for (int pass = 0; pass < 2; ++pass) {  // the second pass counts anew
    reader.rewind();
    while (reader.next() != nullptr) {
    }
    found = reader.outside_range();
  }
  return found;
}

TEST(EvaluationReader, CountsInputsOutsideOfTheTrainingRange) {
  const TemporaryFolder folder;
  const std::string path = folder / "some.h5";
  python(
      "import h5py, numpy as n\nx = n.zeros((10, 4), 'f4')\n"
      "x[1, 3] = -0.5\nx[4, 0] = 2\nx[4, 2] = 2\nx[7, 1] = 1\nx[8, 1] = 1.5\n"
      "f = h5py.File('" +
      path + "', 'w')\nf['inputs'], f['targets'] = x, x[:, :1]\n");
  const Dataset data(path);
  Normalizer normalizer;
  normalizer.input_range = {{0, 0}, {1, 1.25}};  // for two channels
  const OutsideRange first = outside_of(data, normalizer, 0);
  EXPECT_EQ(first.values, 3);
  EXPECT_EQ(first.samples, 2);
  EXPECT_EQ(first.first_sample, 1);
  EXPECT_EQ(first.first_column, 3);
  EXPECT_EQ(first.first_value, -0.5f);
  OutsideRange both = outside_of(data, normalizer, 1);
  EXPECT_EQ(both.first_sample, 8);
  EXPECT_EQ(both.values, 1);
  both.add(first);
  EXPECT_EQ(both.values, 4);
  EXPECT_EQ(both.samples, 3);
  EXPECT_EQ(both.first_sample, 1);
  EXPECT_EQ(both.first_column, 3);
  EvaluationReader held_out(data, {6, 4}, normalizer, {.counts_outside = true});
  while (held_out.next() != nullptr) {
  }
  EXPECT_EQ(held_out.outside_range().first_sample, 8) << "of the file, not of its part";
  EXPECT_EQ(outside_of(data, normalizer, 0, false).values, 0);
  EXPECT_EQ(outside_of(data, Normalizer{}, 0).values, 0) << "no range is known";
}

}  // namespace mylos::evaluation_reader_test
