#include "mylos/data/files/dataset.hpp"

#include <gtest/gtest.h>

#include "data/builders.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/data/files/dataset_writer.hpp"
#include "mylos/data/files/meaning/sample_meaning.hpp"
#include "support/said.hpp"

namespace mylos::dataset_test {

using namespace testing_support;

std::string refusal(const std::string& path) {
  const std::string message = test::refusal_of([&] { const Dataset dataset(path); });
  return message.starts_with(path + ": ") ? message.substr(path.size() + 2) : message;
}

/// A file that h5py makes with these lines; `f` is the file.
std::string python_file(const TemporaryFolder& folder, const std::string& lines) {
  const std::string path = folder / "data.h5";
  python("import h5py, numpy as n\nf = h5py.File('" + path + "', 'w')\n" + lines);
  return path;
}

TEST(Dataset, AFileFromPythonWithoutOurExtrasIsADataset) {
  const TemporaryFolder folder;
  const Dataset dataset(python_file(folder,
                                    "f['inputs'] = n.arange(12, dtype='f4').reshape(6, 2)\n"
                                    "f['labels'] = n.arange(6) % 3\nf.attrs['classes'] = 3\n"));
  EXPECT_EQ(dataset.task(), Task::classification);
  EXPECT_EQ(dataset.samples(), 6);
  EXPECT_EQ(dataset.features(), 2);
  EXPECT_EQ(dataset.outputs(), 3);
  std::vector<std::int32_t> labels(3);
  dataset.read_labels(2, 3, labels.data());
  EXPECT_EQ(labels, (std::vector<std::int32_t>{2, 0, 1}));
  EXPECT_EQ(dataset.input_statistics().mean, (std::vector<double>{5, 6}));
}

TEST(Dataset, InputsAloneAreADatasetWhereAnswersAreOptional) {
  const TemporaryFolder folder;
  const std::string inputs = "f['inputs'] = n.arange(12, dtype='f4').reshape(6, 2)\n";
  const Dataset dataset(python_file(folder, inputs), GroundTruth::optional);
  EXPECT_EQ(dataset.task(), Task::none);
  EXPECT_EQ(dataset.samples(), 6);
  EXPECT_EQ(dataset.features(), 2);
  EXPECT_EQ(dataset.outputs(), 0);
  EXPECT_EQ(dataset.shape().truth_bytes(), 0);
  EXPECT_EQ(dataset.input_statistics().mean, (std::vector<double>{5, 6}));
  std::vector<float> untouched{3};
  dataset.read_targets(0, 6, untouched.data());
  EXPECT_EQ(untouched, std::vector<float>{3});
  const TemporaryFolder other;
  const Dataset with_targets(python_file(other, inputs + "f['targets'] = n.zeros((6, 1), 'f4')\n"),
                             GroundTruth::optional);
  EXPECT_EQ(with_targets.task(), Task::regression);
  EXPECT_NE(with_targets.identity(), dataset.identity());
}

TEST(Dataset, OptionalAnswersAreCheckedAsNeededOnesAre) {
  const TemporaryFolder folder;
  const auto message = [&](const std::string& script) {
    const std::string path = python_file(folder, script);
    return test::refusal_of([&] { Dataset(path, GroundTruth::optional).require_valid_values(); })
        .substr(path.size());
  };
  const std::string inputs = "x = n.zeros((3, 2), 'f4')\n";
  EXPECT_TRUE(test::says(message(inputs + "f['inputs'] = x\nf['targets'] = n.zeros((4, 1), 'f4')\n"),
                         errors::bad_dataset, {"/targets", "has 4", "/inputs", "has 3"}));
  EXPECT_TRUE(test::says(message(inputs + "x[2, 1] = n.nan\nf['inputs'] = x\n"), errors::not_finite,
                         {"/inputs", "row 2", "column 1"}));
}

TEST(Dataset, StatisticsNameTheFirstValueThatIsNotFinite) {
  const TemporaryFolder folder;
  const std::string path = python_file(folder,
                                       "x = n.zeros((9, 3), 'f4')\nx[7, 2] = n.nan\nf['inputs'] = x\n"
                                       "y = n.zeros((9, 2), 'f4')\ny[4, 1] = n.inf\nf['targets'] = y\n");
  const Dataset dataset(path);
  EXPECT_TRUE(test::says(test::refusal_of([&] { (void)dataset.input_statistics(); }), errors::not_finite,
                         {path, "/inputs", "row 7", "column 2"}));
  EXPECT_TRUE(test::says(test::refusal_of([&] { (void)dataset.target_statistics(); }), errors::not_finite,
                         {path, "/targets", "row 4", "column 1"}));
}

TEST(Dataset, StatisticsInTheFileMustBeSuchAsNumbersHave) {
  const auto message = [](const std::string& change) {
    const TemporaryFolder folder;
    const std::string path =
        python_file(folder,
                    "f['inputs'] = n.zeros((9, 3), 'f4')\nf['targets'] = n.zeros((9, 2), 'f4')\n"
                    "for of, columns in (('inputs', 3), ('targets', 2)):\n"
                    "    for name in ('mean', 'std', 'min', 'max'):\n"
                    "        f['statistics/%s/%s' % (of, name)] = n.zeros(columns)\n"
                    "s = f['statistics']\n" +
                        change);
    const Dataset dataset(path);
    const std::string found = test::refusal_of([&] {
      (void)dataset.input_statistics();
      (void)dataset.target_statistics();
    });
    const std::string advice = "; `mylos prepare stamp " + path + "` recomputes statistics";
    EXPECT_TRUE(found.starts_with(path + ": /statistics/") && found.ends_with(advice + " [bad-dataset]"))
        << found;
    return found;
  };
  const std::string held = ", expected a number in the range of float32";
  EXPECT_TRUE(test::says(message("s['inputs/mean'][2] = n.nan"), errors::bad_dataset,
                         {"inputs/mean", "column 2", held}));
  EXPECT_TRUE(test::says(message("s['inputs/max'][0] = n.inf"), errors::bad_dataset,
                         {"inputs/max", "column 0", held}));
  EXPECT_TRUE(test::says(message("s['targets/min'][1] = -1e39"), errors::bad_dataset,
                         {"targets/min", "has -1e+39", "column 1", held}));
  EXPECT_TRUE(test::says(message("s['targets/std'][1] = -2"), errors::bad_dataset,
                         {"targets/std", "has -2", "column 1", "expected 0", "least 1e-300"}));
  EXPECT_TRUE(test::says(message("s['inputs/std'][1] = 1e-310"), errors::bad_dataset,
                         {"inputs/std", "has 1e-310", "column 1", "expected 0", "least 1e-300"}));
  EXPECT_TRUE(
      test::says(message("s['inputs/min'][1] = 3\ns['inputs/max'][1] = 2"), errors::bad_dataset,
                 {"inputs/max", "has 2", "column 1", "the 3", "/statistics/inputs/min", "least 1e-300"}));
}

TEST(Dataset, StatisticsThatNothingVouchesForMustBeThoseOfTheSamples) {
  const std::string samples =
      "x = n.arange(300, dtype='f4').reshape(100, 3)\nf['inputs'] = x\nf['targets'] = x + 7\n";
  const auto file_with = [&](const TemporaryFolder& folder, const std::string& change) {
    return python_file(folder, samples +
                                   "for of in 'inputs', 'targets':\n"
                                   "    v = f[of][:]\n"
                                   "    for name, y in (('mean', v.mean(0)), ('std', v.std(0, ddof=1)),\n"
                                   "                    ('min', v.min(0)), ('max', v.max(0))):\n"
                                   "        f['statistics/%s/%s' % (of, name)] = y.astype('f8')\n"
                                   "s = f['statistics']\n" +
                                   change);
  };
  const TemporaryFolder plain;
  const Dataset computed(python_file(plain, samples));
  const TemporaryFolder folder;
  const Dataset taken(file_with(folder, ""));
  EXPECT_EQ(taken.input_statistics().deviation, computed.input_statistics().deviation) << "not the file's";
  EXPECT_EQ(taken.target_statistics().mean, computed.target_statistics().mean);
  const auto refused = [&](const std::string& change) {
    const TemporaryFolder other;
    const std::string path = file_with(other, change);
    const Dataset dataset(path);
    const std::string message = test::refusal_of([&] {
      (void)dataset.input_statistics();
      (void)dataset.target_statistics();
    });
    return message;
  };
  EXPECT_TRUE(test::says(refused("s['inputs/mean'][...] = 7\ns['inputs/std'][...] = 7"), errors::damaged,
                         {"/statistics/inputs/mean has 7 in column 0"}));
  EXPECT_TRUE(test::says(refused("s['inputs/std'][1] = 7"), errors::damaged,
                         {"/statistics/inputs/std has 7 in column 1"}));
  EXPECT_TRUE(test::says(refused("s['targets/max'][2] += 1"), errors::damaged,
                         {"/statistics/targets/max has 307 in column 2"}));
  EXPECT_TRUE(test::says(refused("s['targets/min'][0] = 0"), errors::damaged,
                         {"/statistics/targets/min has 0 in column 0"}));
}

TEST(Dataset, AnIdentityWithoutDigestsIsComputed) {
  const TemporaryFolder folder;
  const auto identity = [&](const std::string& more) {
    const Dataset dataset(
        python_file(folder, "x = n.zeros((9, 3), 'f4')\nf['targets'] = x\n" + more + "f['inputs'] = x\n"));
    dataset.require_valid_values();
    return dataset.identity();
  };
  EXPECT_EQ(identity("f.attrs['identity'] = 'of another file'\n"), identity(""));
  EXPECT_NE(test::refusal_of([&] {
              (void)identity("f.attrs['identity'] = 'of another file'\nx[7, 2] = n.nan\n");
            }).find("/inputs row 7, column 2 (counted from 0) is nan"),
            std::string::npos);
}

TEST(Dataset, AForeignFileIsCheckedAsAWholeBeforeItIsUsed) {
  const TemporaryFolder folder;
  const auto message = [&](const std::string& script) {
    const std::string path = python_file(folder, script);
    const Dataset dataset(path);
    const std::string found = test::refusal_of([&] { dataset.require_valid_values(); });
    EXPECT_EQ(test::refusal_of([&] { (void)dataset.identity(); }), found);
    return found.starts_with(path + ": ") ? found.substr(path.size() + 2) : found;
  };
  const std::string inputs = "x = n.zeros((9, 3), 'f4')\nx[7, 2] = n.nan\nf['inputs'] = x\n";
  EXPECT_TRUE(test::says(message(inputs + "f['targets'] = n.zeros((9, 2), 'f4')\n"), errors::not_finite,
                         {"/inputs", "row 7", "column 2"}));
  EXPECT_TRUE(
      test::says(message("f['inputs'] = n.zeros((9, 3), 'u1')\ny = n.zeros((9, 2), 'f4')\ny[4, 1] = n.inf\n"
                         "f['targets'] = y\n"),
                 errors::not_finite, {"/targets", "row 4", "column 1"}));
  EXPECT_TRUE(
      test::says(message("f['inputs'] = n.zeros((3, 3), 'u1')\nf['labels'] = n.array([0, 1, 2], 'u1')\n"
                         "f.attrs['classes'] = 2\n"),
                 errors::bad_label, {"/labels", "row 2", "is 2", "expected 0", "to 1"}));
}

TEST(Dataset, WhatIsNoDatasetSaysWhatIsMissing) {
  const TemporaryFolder folder;
  EXPECT_TRUE(test::says(refusal(folder / "none.h5"), errors::no_such_file, {"`mylos prepare`"}));
  write_file(folder / "deck.toml", "[run]\nname = \"fashion\"\n");
  EXPECT_TRUE(test::says(refusal(folder / "deck.toml"), {"5", "`mylos prepare`"}));
  EXPECT_TRUE(test::says(refusal(python_file(folder, "f['x'] = 1\n")), errors::missing_dataset,
                         {"/inputs", "[samples, features]", "`mylos prepare`"}));
  EXPECT_TRUE(test::says(refusal(python_file(folder, "f['inputs'] = n.zeros((3, 2), 'f4')\n")),
                         errors::missing_dataset,
                         {"/labels", "[samples]", "/targets", "[samples, outputs]", "`mylos predict`",
                          "`mylos prepare csv`", "--label", "--targets", "`prepare idx`"}));
  EXPECT_TRUE(
      test::says(refusal(python_file(folder,
                                     "f['inputs'] = n.zeros((3, 2), 'f4')\nf['labels'] = n.zeros(3, 'i4')\n"
                                     "f['targets'] = n.zeros((3, 1), 'f4')\n")),
                 errors::bad_dataset, {"/labels", "/targets"}));
  EXPECT_TRUE(test::says(refusal(python_file(folder, "f.attrs['format'] = 'mylos-checkpoint'\n")),
                         errors::wrong_format, {"is a mylos-checkpoint file, expected mylos-dataset"}));
  EXPECT_TRUE(test::says(refusal(python_file(folder, "f.attrs['format'] = 'z' * 50000\n")),
                         errors::wrong_format, {std::string(60, 'z')}));
  EXPECT_TRUE(test::says(
      refusal(python_file(folder, "f.attrs['format'] = 'mylos-dataset'\nf.attrs['version'] = 2\n")),
      errors::unknown_version, {"version 2", "most 1"}));
}

TEST(Dataset, PartsThatDoNotFitAreRefused) {
  const TemporaryFolder folder;
  const auto labelled = [&](const std::string& inputs, const std::string& labels,
                            const std::string& more = "") {
    return refusal(
        python_file(folder, "f['inputs'] = " + inputs + "\nf['labels'] = " + labels + "\n" + more));
  };
  EXPECT_TRUE(test::says(labelled("n.zeros((3, 2, 2), 'f4')", "n.zeros(3, 'i4')"), errors::bad_dataset,
                         {"/inputs", "has 3", "expected 2", "[samples, features]"}));
  EXPECT_TRUE(test::says(labelled("n.zeros((3, 2))", "n.zeros(3, 'i4')"), errors::bad_dataset,
                         {"/inputs", "float64", "expected uint8", "float32"}));
  EXPECT_TRUE(
      test::says(labelled("n.zeros((3, 2), 'f4')", "n.zeros((3, 1), 'i4')", "f.attrs['classes'] = 2\n"),
                 errors::bad_dataset, {"/labels", "has 2", "expected 1", "[samples]"}));
  EXPECT_TRUE(test::says(labelled("n.zeros((3, 2), 'f4')", "n.zeros(3, 'f4')", "f.attrs['classes'] = 2\n"),
                         errors::bad_dataset, {"/labels", "float32", "expected int32", "int64", "uint8"}));
  EXPECT_TRUE(test::says(labelled("n.zeros((3, 2), 'f4')", "n.zeros(4, 'i4')", "f.attrs['classes'] = 2\n"),
                         errors::bad_dataset, {"/labels has 4", "/inputs has 3"}));
  EXPECT_TRUE(test::says(labelled("n.zeros((0, 2), 'f4')", "n.zeros(0, 'i4')", "f.attrs['classes'] = 2\n"),
                         errors::bad_dataset, {"/inputs", "[0, 2]"}));
  EXPECT_TRUE(test::says(labelled("n.zeros((3, 2), 'f4')", "n.zeros(3, 'i4')"), errors::missing_dataset,
                         {"/ ", "'classes'", "integer"}));
  EXPECT_TRUE(test::says(labelled("n.zeros((3, 2), 'f4')", "n.zeros(3, 'i4')", "f.attrs['classes'] = 0\n"),
                         errors::bad_dataset, {"'classes' of /", "is 0", "expected 1", "to 2000000000"}));
  EXPECT_TRUE(test::says(
      refusal(python_file(folder, "f['inputs'] = n.zeros((3, 2), 'f4')\nf['targets'] = n.zeros(3, 'f4')\n")),
      {"/targets", "has 1", "expected 2", "[samples, outputs]"}));
}

TEST(Dataset, SaysTheGridOfASample) {
  const auto with_shape = [](const TemporaryFolder& folder, const std::string& shape) {
    return python_file(folder,
                       "f['inputs'] = n.zeros((3, 12), 'f4')\nf['labels'] = n.zeros(3, 'i4')\n"
                       "f.attrs['classes'] = 2\nf.attrs['shape'] = '" +
                           shape + "'\n");
  };
  using Grid = std::vector<std::int64_t>;
  const std::vector<std::pair<std::string, Grid>> shapes{
      {"3 4", {3, 4, 1}}, {"2 2 3", {2, 2, 3}}, {"1 2 3 2", {1, 2, 3, 2}}, {"12", {}}, {"1 1 2 3 2", {}}};
  for (const auto& [shape, grid] : shapes) {
    const TemporaryFolder folder;
    EXPECT_EQ(Dataset(with_shape(folder, shape)).grid(), grid) << shape;
  }
  for (const std::string shape : {"3 5", "", "3 four", "3 -4", "99999999999999999999", "12 0"}) {
    const TemporaryFolder folder;
    EXPECT_TRUE(
        test::says(refusal(with_shape(folder, shape)), errors::bad_dataset, {"'shape'", shape, "the 12"}));
  }
}

TEST(Dataset, TestDataMustLookLikeTrainingData) {
  const TemporaryFolder folder;
  const Dataset train(write_images(folder / "train.h5", 20, 4, 10));
  const auto mismatch = [&](const std::string& path) {
    const Dataset other(path);
    return test::refusal_of([&] { require_same_shape(train, other); });
  };
  const std::string end = ", " + train.path();
  EXPECT_TRUE(test::says(mismatch(write_images(folder / "a.h5", 20, 5, 10)), errors::data_mismatch,
                         {(folder / "a.h5"), "has 5", end, "has 4"}));
  EXPECT_TRUE(test::says(mismatch(write_images(folder / "b.h5", 20, 4, 7)), errors::data_mismatch,
                         {(folder / "b.h5"), "has 7", end, "has 10"}));
  EXPECT_TRUE(test::says(mismatch(write_table(folder / "c.h5", 20, 4, 10)), errors::data_mismatch,
                         {(folder / "c.h5"), end}));
  EXPECT_NO_THROW(require_same_shape(train, Dataset(write_images(folder / "d.h5", 5, 4, 10))));
}

TEST(Dataset, IdentityIsThatOfTheContentsHoweverTheFileWasMade) {
  const TemporaryFolder folder;
  const Dataset plain(write_images(folder / "plain.h5", 30, 4, 3));
  std::vector<std::uint8_t> inputs(120);
  std::vector<std::int32_t> labels(30);
  plain.read_inputs(0, 30, inputs.data());
  plain.read_labels(0, 30, labels.data());
  const auto write = [&](const std::string& path) {
    DatasetWriter writer(path, plain.shape(), "a test");
    writer.add_labels(labels.data(), 30);
    writer.add_inputs(inputs.data(), 13);
    writer.add_inputs(inputs.data() + 13 * 4, 17);
    writer.finish();
    return Dataset(path).identity();
  };
  const std::string identity = write(folder / "prepared.h5");
  EXPECT_EQ(identity, plain.identity());
  EXPECT_EQ(identity.size(), Xxh128::hex_characters);
  EXPECT_EQ(Dataset(folder / "prepared.h5").input_statistics().deviation, plain.input_statistics().deviation);
  labels[29] = (labels[29] + 1) % 3;
  EXPECT_NE(write(folder / "other.h5"), identity);
}

TEST(Dataset, InputsAloneAreWrittenWithTheirStatisticsAndTheIdentityOfTheirContents) {
  const TemporaryFolder folder;
  const auto write = [&](float last) {
    const std::vector<float> inputs{1, 2, 3, 4, 5, last};
    DatasetWriter writer(folder / "prepared.h5",
                         {.task = Task::none, .samples = 3, .features = 2, .outputs = 0}, "a test");
    writer.add_inputs(inputs.data(), 3);
    writer.finish();
    return Dataset(folder / "prepared.h5", GroundTruth::optional);
  };
  const Dataset plain(python_file(folder, "f['inputs'] = n.arange(1, 7, dtype='f4').reshape(3, 2)\n"),
                      GroundTruth::optional);
  const Dataset prepared = write(6);
  EXPECT_EQ(prepared.task(), Task::none);
  EXPECT_EQ(prepared.identity(), plain.identity());
  EXPECT_EQ(prepared.input_statistics().mean, (std::vector<double>{3, 4}));
  EXPECT_NE(write(7).identity(), plain.identity());
}

}  // namespace mylos::dataset_test
