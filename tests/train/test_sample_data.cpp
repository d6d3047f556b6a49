// Data of a run that must mean the same: classes, grids, and targets that can be evaluated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/builders.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/data/run/run_data.hpp"
#include "support/refusal.hpp"

namespace mylos::sample_data_test {

using namespace mylos::testing_support;

constexpr std::int64_t pixels = 32;

struct Said {
  std::string shape = {};        // of a sample; "" = the file does not say
  std::string class_names = {};  // one a line; likewise
};

/// Images of two classes.
std::string write_images_that_say(const std::string& path, const Said& said) {
  write_images(path, 20, pixels, 2);
  auto file = hdf5::File::edit(path);
  if (!said.shape.empty()) file.write_attribute("/", "shape", said.shape);
  if (!said.class_names.empty()) {
    file.create_text("/class_names", static_cast<std::int64_t>(said.class_names.size()))
        .write_text(said.class_names);
  }
  file.close();
  return path;
}

class SampleDataTest : public testing::Test {
 protected:
  void open(const Said& train, const Said& test, std::vector<std::int64_t> shape_of_deck = {}) {
    Options options;
    options.data.train = write_images_that_say(folder / "train.h5", train);
    options.data.test = write_images_that_say(folder / "test.h5", test);
    options.data.batch = 4;
    options.data.shape = std::move(shape_of_deck);
    open(options);
  }
  static void open(const Options& options) {
    static_cast<void>(open_run_data(options, GroundTruth::required,
                                    {{"checkpoint.keep_best", "deck.toml:9"}, {"data.test", "deck.toml:3"}}));
  }
  template <class... Arguments>
  testing::AssertionResult refuses(ErrorId id, std::initializer_list<std::string_view> parts,
                                   const Arguments&... arguments) {
    return test::refuses(ExitCode::bad_input, id, parts, [&] { open(arguments...); });
  }

  TemporaryFolder folder;
};

TEST_F(SampleDataTest, TestDataWhoseClassesHaveOtherNamesAreRefused) {
  EXPECT_TRUE(refuses(errors::bad_names,
                      {(folder / "test.h5") + ": class 1 (counted from 0) is 'ebony', and 'dark' in ",
                       "`mylos prepare images`", "--classes-of " + (folder / "train.h5")},
                      Said{.class_names = "bright\ndark\n"}, Said{.class_names = "bright\nebony\n"}));
  EXPECT_TRUE(refuses(errors::bad_names, {"class 0 (counted from 0) is 'dark', and 'bright' in "},
                      Said{.class_names = "bright\ndark"}, Said{.class_names = "dark\nebony"}));
  EXPECT_NO_THROW(open({.class_names = "bright\ndark\n"}, {.class_names = "bright\ndark"}));
}

TEST_F(SampleDataTest, WhereOneFileNamesNoClassesNothingIsCompared) {
  EXPECT_NO_THROW(open({.class_names = "bright\ndark\n"}, {}));
  EXPECT_NO_THROW(open({}, {.class_names = "bright\ndark\n"}));
}

TEST_F(SampleDataTest, TestDataOnAnotherGridAreRefused) {
  EXPECT_TRUE(refuses(errors::data_mismatch,
                      {folder / "test.h5", "8 x 4 x 1", folder / "train.h5", "4 x 8 x 1"},
                      Said{.shape = "4 8"}, Said{.shape = "8 4 1"}));
  EXPECT_NO_THROW(open({.shape = "4 8"}, {.shape = "4 8 1"}));
  EXPECT_NO_THROW(open({.shape = "4 8"}, {}));
  EXPECT_NO_THROW(open({}, {.shape = "4 8"}));
}

TEST_F(SampleDataTest, AGridOfTheDeckSpeaksForAFileThatSaysOfNone) {
  EXPECT_TRUE(refuses(errors::data_mismatch, {"4 x 8 x 1"}, Said{}, Said{.shape = "8 4 1"},
                      std::vector<std::int64_t>{4, 8, 1}));
  EXPECT_NO_THROW(open({}, {.shape = "4 8 1"}, {4, 8, 1}));
  EXPECT_NO_THROW(open({.shape = "8 4 1"}, {.shape = "8 4 1"}, {4, 8, 1})) << "both files are seen alike";
  EXPECT_NO_THROW(open({.shape = "8 4 1"}, {.shape = "4 8 1"}, {4, 8, 1})) << "the deck corrects the first";
  EXPECT_NO_THROW(open({}, {.shape = "4 8 1"}, {32, 1})) << "another view of the same numbers";
}

TEST_F(SampleDataTest, OnlyNetworksThatEndOnTheGridHaveTargetsScaledByChannel) {
  write_table(folder / "grid.h5", 20, 8, 4);
  auto file = hdf5::File::edit(folder / "grid.h5");
  file.write_attribute("/", "shape", "2 2 2");
  file.close();
  const auto are_scaled_by_channel = [&](std::vector<LayerOptions> layers) {
    Options options;
    options.model.loss = losses::Mse{};
    options.model.type = ModelType::chain;
    options.model.chain = std::move(layers);
    options.data.train = folder / "grid.h5";
    options.data.batch = 4;
    options.data.normalize = Normalize::channel;
    const auto shift = open_run_data(options)->normalizer({}).targets.shift;
    return shift.at(0) == shift.at(3);
  };
  const LayerOptions conv{.kind = kinds::Conv{}, .outputs = 1};
  const LayerOptions norm{.kind = kinds::Norm{}};
  EXPECT_TRUE(are_scaled_by_channel({conv}));
  EXPECT_TRUE(are_scaled_by_channel({conv, norm}));
  EXPECT_FALSE(are_scaled_by_channel({conv, {.kind = kinds::Dense{}}}));
  EXPECT_FALSE(are_scaled_by_channel({{.kind = kinds::Dense{}}, norm}));
}

TEST_F(SampleDataTest, TestDataAreReadInTheOrderOfTheTrainingDatasNames) {
  const auto write_named = [&](const std::string& name, const std::vector<std::string>& names) {
    write_table(folder / name, 20, 2, 1);
    auto file = hdf5::File::edit(folder / name);
    write_names(file, "/input_names", names);
    file.close();
    return folder / name;
  };
  Options options;
  options.model.loss = losses::Mse{};
  options.data.train = write_named("train.h5", {"T", "p"});
  options.data.test = write_named("test.h5", {"p", "T"});
  options.data.batch = 4;
  const auto data = open_run_data(options);
  EXPECT_EQ(data->notes(),
            (std::vector<std::string>{options.data.test.text() +
                                      ": its inputs are p, T; they are read by name in the order T, p"}));
  EXPECT_EQ(data->meaning().input_names, (std::vector<std::string>{"T", "p"}));
  const auto pass = data->pass_over(DataPart::test, {}, {});
  const Batch* batch = pass->next();
  ASSERT_NE(batch, nullptr);
  EXPECT_EQ(static_cast<const float*>(static_cast<const void*>(batch->inputs))[0], measured(0, 1));
  options.data.test = write_named("other.h5", {"p", "q"});
  EXPECT_TRUE(refuses(errors::bad_names, {"T missing", "q not known"}, options));
}

/// Two targets, of which the second is constant; `varies`: the first is not.
std::string write_targets(const std::string& path, bool varies) {
  constexpr std::int64_t samples = 20;
  std::vector<float> inputs;
  std::vector<float> targets;
  for (std::int64_t i = 0; i < samples; ++i) {
    inputs.push_back(measured(i, 0));
    targets.insert(targets.end(), {varies ? measured(i, 1) : 1e6f, 1e6f});
  }
  auto file = hdf5::File::create(path);
  file.create_dataset("/inputs", DType::fp32, {samples, 1}).write(0, samples, inputs.data());
  file.create_dataset("/targets", DType::fp32, {samples, 2}).write(0, 2 * samples, targets.data());
  file.close();
  return path;
}

TEST_F(SampleDataTest, TheBestR2OfTargetsThatDoNotVaryIsRefused) {
  Options options;
  options.model.loss = losses::Mse{};
  options.data.batch = 4;
  options.data.train = write_targets(folder / "varied.h5", true);
  options.data.test = write_targets(folder / "constant.h5", false);
  options.checkpoint.keep_best = "test.r2";
  EXPECT_TRUE(refuses(errors::not_measured,
                      {"deck.toml:9: checkpoint.keep_best = \"test.r2\"", "20 test samples",
                       folder / "constant.h5", "\"test.loss\""},
                      options));
  options.checkpoint.keep_best = "test.loss";
  EXPECT_NO_THROW(open(options));
  options.data.validation = 0.25;
  options.checkpoint.keep_best = "validation.r2";
  EXPECT_NO_THROW(open(options)) << "one target varies";
  std::swap(options.data.train, options.data.test);
  EXPECT_TRUE(refuses(errors::not_measured, {"validation.r2", "5 validation samples"}, options));
  options.checkpoint.keep_best = "test.r2";
  EXPECT_NO_THROW(open(options));
}

}  // namespace mylos::sample_data_test
