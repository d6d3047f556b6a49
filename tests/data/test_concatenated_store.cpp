#include "mylos/data/files/concatenated_store.hpp"

#include <gtest/gtest.h>

#include "data/builders.hpp"
#include "data/digest_builders.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/data/feed/loader.hpp"
#include "mylos/data/files/scaling/normalizer.hpp"
#include "support/refusal.hpp"

namespace mylos::concatenated_store_test {

using namespace testing_support;

constexpr std::int64_t columns = 3;
constexpr std::int64_t targets = 2;

/// Writes rows [first, first + count) of one table.
std::string write_part(const std::string& path, std::int64_t first, std::int64_t count) {
  std::vector<float> inputs;
  std::vector<float> truth;
  for (std::int64_t i = first; i < first + count; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) inputs.push_back(measured(i, j));
    for (std::int64_t j = 0; j < targets; ++j) truth.push_back(measured(i, columns + j));
  }
  auto file = hdf5::File::create(path);
  file.create_dataset("/inputs", DType::fp32, {count, columns}).write(0, count * columns, inputs.data());
  file.create_dataset("/targets", DType::fp32, {count, targets}).write(0, count * targets, truth.data());
  file.close();
  return path;
}

class ConcatenatedStoreTest : public testing::Test {
 protected:
  TemporaryFolder folder;
  Dataset whole{write_part(folder / "whole.h5", 0, 60)};
  ConcatenatedStore parts{{write_part(folder / "a.h5", 0, 1), write_part(folder / "b.h5", 1, 33),
                           write_part(folder / "c.h5", 34, 26)},
                          "three",
                          GroundTruth::required};
};

TEST_F(ConcatenatedStoreTest, ReadsTheSamplesOfOneFileWithAllOfThem) {
  EXPECT_EQ(parts.path(), "three");
  EXPECT_EQ(parts.samples(), 60);
  EXPECT_EQ(parts.features(), columns);
  EXPECT_EQ(parts.outputs(), targets);
  for (std::int64_t first = 0; first < 60; ++first) {
    for (std::int64_t count = 1; first + count <= 60; ++count) {
      std::vector<float> expected(static_cast<std::size_t>(count * columns));
      std::vector<float> read(expected.size());
      whole.read_inputs(first, count, expected.data());
      parts.read_inputs(first, count, read.data());
      ASSERT_EQ(read, expected) << first << ' ' << count;
      whole.read_targets(first, count, expected.data());
      parts.read_targets(first, count, read.data());
      ASSERT_EQ(read, expected) << first << ' ' << count;
    }
  }
  EXPECT_EQ(parts.location_of_input(34, 2), (folder / "c.h5") + ": /inputs row 0, column 2 (counted from 0)");
  EXPECT_EQ(parts.location_of_target(33, 1),
            (folder / "b.h5") + ": /targets row 32, column 1 (counted from 0)");
}

TEST_F(ConcatenatedStoreTest, CheckingTakesTheBytesOfAllFiles) {
  const std::vector<std::string> files{prepared_images(folder / "few.h5", 100),
                                       prepared_images(folder / "many.h5", 1000)};
  const std::int64_t of_few = Dataset(files[0]).reading_bytes();
  const std::int64_t of_many = Dataset(files[1]).reading_bytes();
  ASSERT_GT(of_few, 0);
  EXPECT_EQ(ConcatenatedStore(files, "two", GroundTruth::required).reading_bytes(), of_few + of_many);
}

TEST_F(ConcatenatedStoreTest, StatisticsAreThoseOfOneFile) {
  const auto compare = [](const ColumnStatistics& found, const ColumnStatistics& expected) {
    EXPECT_EQ(found.minimum, expected.minimum);
    EXPECT_EQ(found.maximum, expected.maximum);
    for (std::size_t i = 0; i < expected.mean.size(); ++i) {
      EXPECT_NEAR(found.mean[i], expected.mean[i], 1e-12 * expected.mean[i]);
      EXPECT_NEAR(found.deviation[i], expected.deviation[i], 1e-9 * expected.deviation[i]);
    }
  };
  compare(parts.input_statistics({0, 60}), whole.input_statistics());
  compare(parts.target_statistics({0, 60}), whole.target_statistics());
  compare(parts.input_statistics({30, 11}), whole.input_statistics({30, 11}));
}

TEST_F(ConcatenatedStoreTest, TrainsOnTheBatchesOfOneFile) {
  for (const Shuffle shuffle : {Shuffle::samples, Shuffle::blocks}) {
    const Sampler sampler({.samples = 60, .batch = 7, .shuffle = shuffle, .block_samples = 5});
    Loader expected(whole, {0, 60}, sampler, {}, {});
    Loader loader(parts, {0, 60}, sampler, {}, {});
    for (int step = 0; step < 20; ++step) {
      const Batch& one = expected.next();
      const Batch& other = loader.next();
      const auto* one_inputs = static_cast<const float*>(one.inputs);
      const auto* other_inputs = static_cast<const float*>(other.inputs);
      ASSERT_TRUE(std::equal(one_inputs, one_inputs + 7 * columns, other_inputs));
      ASSERT_TRUE(std::equal(one.targets, one.targets + 7 * targets, other.targets));
    }
  }
}

TEST_F(ConcatenatedStoreTest, TheIdentityIsThatOfContentsInTheirOrder) {
  const std::string identity = parts.identity();
  const std::vector<std::string> files{folder / "a.h5", folder / "b.h5", folder / "c.h5"};
  const std::vector<std::string> turned{folder / "b.h5", folder / "a.h5", folder / "c.h5"};
  EXPECT_EQ(ConcatenatedStore(files, "other name", GroundTruth::required).identity(), identity);
  EXPECT_NE(ConcatenatedStore(turned, "three", GroundTruth::required).identity(), identity);
  const std::vector<std::string> changed{write_part(folder / "changed.h5", 5, 1), folder / "b.h5",
                                         folder / "c.h5"};
  EXPECT_NE(ConcatenatedStore(changed, "three", GroundTruth::required).identity(), identity);
}

TEST_F(ConcatenatedStoreTest, FilesOfAnotherShapeAreRefusedByTheirNames) {
  const std::string other = write_table(folder / "other.h5", 4, columns + 1, targets);
  const auto open = [&](const std::string& second) {
    return [this, second] { ConcatenatedStore({folder / "a.h5", second}, "both", GroundTruth::required); };
  };
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::data_mismatch,
                            {other + ": has 4 features per sample, ", (folder / "a.h5") + " has 3"},
                            open(other)));
  const std::string images = write_images(folder / "images.h5", 4, columns, 2);
  EXPECT_TRUE(
      test::refuses(ExitCode::bad_input, errors::data_mismatch, {images + ": holds labels, "}, open(images)));
}

}  // namespace mylos::concatenated_store_test
