#include "mylos/data/prepare/prepare_idx.hpp"

#include <gtest/gtest.h>

#include "data/builders.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/samples.hpp"
#include "support/said.hpp"

namespace mylos::prepare_idx_test {

using namespace testing_support;

const std::string fashion = "/usr/share/datasets/fashion-mnist/";

std::string big_endian(std::uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

std::string idx(std::initializer_list<std::uint32_t> dims, const std::string& elements, char type = 8) {
  std::string bytes{'\0', '\0', type, static_cast<char>(dims.size())};
  for (const auto length : dims) bytes += big_endian(length);
  return bytes + elements;
}

/// Prepares 3 images of 2 x 2 with labels 1, 0, 2; the arguments replace files. Returns the message, without
/// the folder.
std::string refusal(const std::string& images, const std::string& labels, std::int64_t classes = 0) {
  const TemporaryFolder folder;
  write_file(folder / "images", images);
  write_file(folder / "labels", labels);
  const std::string out = folder / "out.h5";
  std::string message = test::refusal_of([&] {
    prepare(
        PrepareIdx{.images = folder / "images", .labels = folder / "labels", .out = out, .classes = classes});
  });
  EXPECT_FALSE(std::filesystem::exists(out) || std::filesystem::exists(out + ".tmp"));
  for (std::size_t at; (at = message.find(folder.path() + "/")) != std::string::npos;) {
    message.erase(at, folder.path().size() + 1);
  }
  return message;
}

const std::string good_images = idx({3, 2, 2}, "abcdefghijkl");
const std::string good_labels = idx({3}, {1, 0, 2});

TEST(PrepareIdx, FashionMnistIsWhatPythonReadsFromTheSameFiles) {
  if (!std::filesystem::exists(fashion)) GTEST_SKIP() << "the package dataset-fashion-mnist is not installed";
  const TemporaryFolder folder;
  prepare(PrepareIdx{.images = fashion + "t10k-images-idx3-ubyte.gz",
                     .labels = fashion + "t10k-labels-idx1-ubyte.gz",
                     .out = folder / "test.h5",
                     .classes = 0});
  EXPECT_EQ(
      python("import gzip, h5py, numpy as n\nf = h5py.File('" + (folder / "test.h5") +
             "')\nread = lambda name, skip: n.frombuffer(gzip.open('" + fashion +
             "t10k-' + name + '-ubyte.gz').read()[skip:], 'u1')\n"
             "x = read('images-idx3', 16).reshape(10000, 784)\ny = read('labels-idx1', 8)\n"
             "print(n.array_equal(f['inputs'][:], x), n.array_equal(f['labels'][:], y))\n"
             "print(f['inputs'].dtype, f['labels'].dtype, f.attrs['classes'], f.attrs['shape'].decode())\n"
             "s = f['statistics/inputs']\nx = x.astype('f8')\n"
             "print(n.allclose(s['mean'], x.mean(0)), n.allclose(s['std'], x.std(0)), "
             "n.array_equal(s['min'], x.min(0)), n.array_equal(s['max'], x.max(0)))\n"
             "print(f.attrs['format'].decode(), f.attrs['version'], f.attrs['source'].decode())"),
      "True True\nuint8 int32 10 28 28\nTrue True True True\n"
      "mylos-dataset 1 t10k-images-idx3-ubyte.gz t10k-labels-idx1-ubyte.gz\n");
  EXPECT_EQ(Dataset(folder / "test.h5").samples(), 10000);
}

TEST(PrepareIdx, PlainFilesAreReadToo) {
  const TemporaryFolder folder;
  write_file(folder / "images", good_images);
  write_file(folder / "labels", good_labels);
  prepare(PrepareIdx{
      .images = folder / "images", .labels = folder / "labels", .out = folder / "a.h5", .classes = 5});
  const Dataset dataset(folder / "a.h5");
  EXPECT_EQ(dataset.features(), 4);
  EXPECT_EQ(dataset.outputs(), 5);
  std::string inputs(12, ' ');
  dataset.read_inputs(0, 3, inputs.data());
  EXPECT_EQ(inputs, "abcdefghijkl");
}

TEST(PrepareIdx, ImagesWithoutLabelsAreInputsAlone) {
  const TemporaryFolder folder;
  write_file(folder / "images", good_images);
  prepare(PrepareIdx{.images = folder / "images", .labels = "", .out = folder / "a.h5"});
  const Dataset dataset(folder / "a.h5", GroundTruth::optional);
  EXPECT_EQ(dataset.task(), Task::none);
  EXPECT_EQ(dataset.samples(), 3);
  std::string inputs(12, ' ');
  dataset.read_inputs(0, 3, inputs.data());
  EXPECT_EQ(inputs, "abcdefghijkl");
  EXPECT_EQ(python("import h5py\nf = h5py.File('" + (folder / "a.h5") +
                   "')\nprint(sorted(f), f.attrs['source'].decode(), f.attrs['shape'].decode())"),
            "['digests', 'inputs', 'statistics'] images 2 2\n");
  write_file(folder / "labels", good_labels);
  EXPECT_TRUE(test::says(test::refusal_of([&] {
                           prepare(
                               PrepareIdx{.images = folder / "labels", .labels = "", .out = folder / "b.h5"});
                         }),
                         errors::bad_dataset, {(folder / "labels"), "has 1", "[samples, ...]"}));
}

TEST(PrepareIdx, WhatIsNoIdxFileIsRefused) {
  EXPECT_TRUE(test::says(refusal("label,x,y\n", good_labels), errors::wrong_format, {"with 6c616265"}));
  EXPECT_TRUE(test::says(refusal("", good_labels), errors::truncated, {"after 0"}));
  EXPECT_TRUE(test::says(refusal(idx({3, 2, 2}, std::string(48, 'x'), 0x0d), good_labels),
                         errors::unsupported_feature, {"type 0x0d", "expected 0x08"}));
  EXPECT_TRUE(test::says(refusal(good_images.substr(0, 10), good_labels), errors::truncated, {"after 10"}));
}

TEST(PrepareIdx, AHeaderThatLiesIsFoundBeforeMemoryIsTaken) {
  EXPECT_TRUE(test::says(refusal(idx({3, 2, 2}, "abcdefghijk"), good_labels), errors::damaged,
                         {"states 3 x 2 x 2", "is 28", "has 27"}));
  EXPECT_TRUE(test::says(refusal(idx({3, 2, 2}, "abcdefghijklm"), good_labels), errors::damaged,
                         {"states 3 x 2 x 2", "is 28", "has 29"}));
  EXPECT_TRUE(test::says(refusal(idx({0xffffffffu, 0xffffffffu, 0xffffffffu}, "abc"), good_labels),
                         errors::truncated, {"states 4294967295", "only 19"}));
  EXPECT_TRUE(test::says(refusal(idx({0, 2, 2}, ""), good_labels), errors::bad_dataset, {"zero (0"}));
}

TEST(PrepareIdx, ImagesAndLabelsMustBelongTogether) {
  EXPECT_TRUE(test::says(refusal(good_images, idx({2}, {1, 0})), errors::data_mismatch, {"has 2", "has 3"}));
  EXPECT_TRUE(
      test::says(refusal(good_labels, good_images), errors::bad_dataset, {"has 1", "[samples, ...]"}));
  EXPECT_TRUE(test::says(refusal(good_images, good_labels, 2), errors::bad_label,
                         {"label 2", "is 2", "expected 0", "to 1"}));
}

TEST(PrepareIdx, ACompressedFileThatClaimsOneHugeSampleIsRefused) {
  const TemporaryFolder folder;
  const std::string images = idx({1, 4'000'000}, std::string(4'000'000, '\0'));
  write_file(folder / "images", images);
  python("import gzip\nopen('" + (folder / "images.gz") + "', 'wb').write(gzip.compress(open('" +
         (folder / "images") + "', 'rb').read()))\n");
  EXPECT_TRUE(test::says(refusal(read_file(folder / "images.gz"), idx({1}, {0})), errors::too_large,
                         {"of 4000000", "bytes (1 x 4000000"}));
}

TEST(PrepareIdx, DamagedGzipIsRefusedAndLeavesNothing) {
  const TemporaryFolder folder;
  write_file(folder / "images", idx({1000, 2, 2}, std::string(4000, 'x')));
  python("import gzip\nopen('" + (folder / "images.gz") + "', 'wb').write(gzip.compress(open('" +
         (folder / "images") + "', 'rb').read()))");
  const std::string whole = read_file(folder / "images.gz");
  const std::string labels = idx({1000}, std::string(1000, '\1'));
  const std::string cut = refusal(whole.substr(0, whole.size() - 12), labels);
  EXPECT_TRUE(cut.starts_with("images: ends after ")) << cut;
  std::string flipped = whole;
  flipped[whole.size() - 6] ^= 1;  // in the checksum
  EXPECT_TRUE(
      test::says(refusal(flipped, labels), errors::damaged, {"images: is damaged: incorrect data check"}));
}

TEST(PrepareIdx, GzipThatEndsWithinItsChecksumIsRefused) {
  const TemporaryFolder folder;
  write_file(folder / "images", good_images);
  write_file(folder / "labels", good_labels);
  python("import gzip\nfor name in ('images', 'labels'):\n    path = '" + folder.path() +
         "/' + name\n    open(path + '.gz', 'wb').write(gzip.compress(open(path, 'rb').read()))");
  const std::string images = read_file(folder / "images.gz");
  const std::string labels = read_file(folder / "labels.gz");
  for (std::size_t lost = 1; lost <= 8; ++lost) {
    EXPECT_TRUE(
        test::says(refusal(images.substr(0, images.size() - lost), labels), errors::truncated, {"images"}))
        << lost;
    EXPECT_TRUE(
        test::says(refusal(images, labels.substr(0, labels.size() - lost)), errors::truncated, {"labels"}))
        << lost;
  }
}

TEST(PrepareIdx, AMissingFileIsNamed) {
  EXPECT_TRUE(
      test::says(test::refusal_of([] {
                   prepare(PrepareIdx{.images = "/nowhere/i", .labels = "/nowhere/l", .out = "/nowhere/o"});
                 }),
                 errors::no_such_file, {"/nowhere/i"}));
}

}  // namespace mylos::prepare_idx_test
