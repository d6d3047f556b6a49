#include "mylos/data/files/checked_array.hpp"

#include <gtest/gtest.h>

#include "data/digest_builders.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/data/files/dataset.hpp"
#include "mylos/data/tokens/token_dataset.hpp"
#include "support/said.hpp"

namespace mylos::checked_array_test {

using namespace testing_support;

std::string read_error(const Dataset& dataset, std::int64_t first, std::int64_t count) {
  std::vector<std::uint8_t> inputs(static_cast<std::size_t>(count * dataset.features()));
  return test::refusal_of([&] { dataset.read_inputs(first, count, inputs.data()); });
}

void expect_inputs(const Dataset& dataset, std::int64_t first, std::int64_t count) {
  std::vector<std::uint8_t> inputs(static_cast<std::size_t>(count * wide_features));
  dataset.read_inputs(first, count, inputs.data());
  for (std::int64_t i = 0; i < count; ++i) {
    for (const std::int64_t j : {std::int64_t{0}, wide_features - 1}) {
      ASSERT_EQ(inputs[static_cast<std::size_t>(i * wide_features + j)], pixel(first + i, j))
          << first << " " << i;
    }
  }
}

TEST(CheckedArray, EveryRangeReadsAsWithoutDigests) {
  const TemporaryFolder folder;
  const std::string path = prepared_images(folder / "a.h5");
  for (const std::int64_t first : {0, 1, 92, 93, 94, 500, 929, 930, 999}) {
    for (const std::int64_t count : {1, 2, 92, 93, 94, 187, 1000}) {
      const Dataset fresh(path);
      const std::int64_t there = std::min<std::int64_t>(count, 1000 - first);
      expect_inputs(fresh, first, there);
      expect_inputs(fresh, first, there);  // already compared
    }
  }
}

TEST(CheckedArray, AChangedValueIsFoundFromWhicheverRowOfItsBlockIsRead) {
  const TemporaryFolder folder;
  const std::string path = prepared_images(folder / "a.h5");
  edit(path, "f['inputs'][500, 699] ^= 1");
  const std::string changed = "a value of /inputs in rows 465 to 557 (counted from 0)";
  for (const std::int64_t row : {465, 500, 557})
    EXPECT_TRUE(says_changed(read_error(Dataset(path), row, 1), path, changed));
  const Dataset dataset(path);
  EXPECT_TRUE(says_changed(read_error(dataset, 0, 1000), path, changed));
  EXPECT_TRUE(says_changed(read_error(dataset, 470, 3), path, changed)) << "it must not be forgotten";
  expect_inputs(dataset, 0, 465);
  expect_inputs(dataset, 558, 442);
}

TEST(CheckedArray, TheLastBlockMayBeShort) {
  const TemporaryFolder folder;
  const std::string path = prepared_images(folder / "a.h5");
  edit(path, "f['inputs'][999, 0] ^= 128");
  const std::string changed = "a value of /inputs in rows 930 to 999 (counted from 0)";
  EXPECT_TRUE(says_changed(read_error(Dataset(path), 999, 1), path, changed));
  EXPECT_TRUE(says_changed(read_error(Dataset(path), 930, 70), path, changed));
}

TEST(CheckedArray, LabelsStatisticsTokensAndVocabularyAreComparedToo) {
  const TemporaryFolder folder;
  const std::string images = prepared_images(folder / "a.h5");
  edit(images, "f['labels'][3] = 9; f['statistics/inputs/std'][5] *= 2");
  const Dataset dataset(images);
  std::int32_t label = 0;
  EXPECT_TRUE(says_changed(test::refusal_of([&] { dataset.read_labels(0, 1, &label); }), images,
                           "a value of /labels in rows 0 to 92 (counted from 0)"));
  EXPECT_TRUE(says_changed(test::refusal_of([&] { (void)dataset.input_statistics(); }), images,
                           "a value of /statistics/inputs/std in rows 0 to 699 (counted from 0)"));
  const std::string tokens = prepared_tokens(folder / "tokens.h5");
  edit(tokens, "f['tokens'][40000] = 1");
  std::uint16_t token = 0;
  EXPECT_TRUE(says_changed(test::refusal_of([&] { TokenDataset(tokens).read(49999, 1, &token); }), tokens,
                           "a value of /tokens in rows 32768 to 49999 (counted from 0)"));
  const std::string text = prepared_characters(folder / "text.h5");
  edit(text, "f['vocabulary'][()] = n.bytes_(b'abd')");
  EXPECT_TRUE(says_changed(test::refusal_of([&] { TokenDataset{text}; }), text, "/vocabulary"));
}

TEST(CheckedArray, ABlockIsComparedWhenItIsReadForTheFirstTime) {
  const TemporaryFolder folder;
  const std::string path = prepared_images(folder / "a.h5");
  const Dataset dataset(path);
  const Dataset copy = dataset;
  expect_inputs(dataset, 0, 93);
  edit(path, "f['inputs'][0, 0] ^= 1; f['inputs'][93, 0] ^= 1");
  std::vector<std::uint8_t> inputs(wide_features);
  copy.read_inputs(0, 1, inputs.data());
  EXPECT_NE(read_error(copy, 93, 1), "");
}

TEST(CheckedArray, AFileWithoutDigestsIsReadAsItIs) {
  const TemporaryFolder folder;
  const std::string path = prepared_images(folder / "a.h5");
  edit(path, "f['inputs'][500, 699] ^= 1; del f['digests']");
  std::uint8_t value[wide_features];
  Dataset(path).read_inputs(500, 1, value);
  EXPECT_EQ(value[699], pixel(500, 699) ^ 1);
  EXPECT_EQ(Dataset(path).reading_bytes(), 0);
}

TEST(CheckedArray, DigestsThatDoNotFitAreRefusedBeforeAnythingIsRead) {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::string& change) {
    const std::string path = prepared_images(folder / "a.h5");
    edit(path, change);
    return test::refusal_of([&] { const Dataset dataset(path); }).substr(path.size());
  };
  const std::string anew = "`mylos prepare stamp " + (folder / "a.h5") + "` recomputes digests";
  EXPECT_TRUE(test::says(refusal("del f['digests/labels']"), errors::missing_dataset, {"/labels", anew}));
  EXPECT_TRUE(test::says(refusal("f['digests/inputs'].attrs['rows'] = 0"), errors::bad_dataset,
                         {"'rows'", "/digests/inputs", "is 0", "least 1"}));
  EXPECT_TRUE(test::says(refusal("del f['digests/inputs'].attrs['rows']"), errors::missing_dataset,
                         {"/digests/inputs", "'rows'"}));
  EXPECT_TRUE(test::says(refusal("f['digests/inputs'].attrs['rows'] = 90"), errors::damaged,
                         {"has 11", "of 90", "/inputs", "its 1000", "need 12", anew}));
  EXPECT_TRUE(test::says(refusal("f['digests/inputs'].attrs['rows'] = 2**62"), errors::damaged,
                         {"has 11", "of 4611686018427387904", "/inputs", "its 1000", "need 1", anew}));
  EXPECT_TRUE(test::says(refusal("del f['digests/labels']; f['digests/labels'] = n.zeros(11)"),
                         {"/digests/labels", "64", "32"}));
  const std::string path = prepared_images(folder / "large.h5", 3000);
  edit(path,
       "del f['digests/inputs']; f['digests/inputs'] = n.zeros(2, 'u4'); "
       "f['digests/inputs'].attrs['rows'] = 1500");
  EXPECT_TRUE(test::says(test::refusal_of([&] { const Dataset dataset(path); }), errors::too_large,
                         {path, "'rows'", "/digests/inputs", "is 1500", "of 700 B", "than 1 MiB"}));
}

TEST(CheckedArray, MemoryForComparingIsABlockAndABitPerBlock) {
  const TemporaryFolder folder;
  const Dataset dataset(prepared_images(folder / "a.h5"));
  EXPECT_GE(dataset.reading_bytes(), 93 * 700 + 93 * 4);
  EXPECT_LE(dataset.reading_bytes(), 93 * 700 + 93 * 4 + 200);
}

}  // namespace mylos::checked_array_test
