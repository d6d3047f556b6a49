// Which scalings of a file a run keeps that is initialised from its weights.
#include "mylos/train/start/initial_normalization.hpp"

#include <gtest/gtest.h>

#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/runs.hpp"
#include "support/refusal.hpp"

namespace mylos::initial_normalization_test {

constexpr TakenEnds all{true, true};

class KeptScalings : public testing::Test {
 protected:
  KeptScalings() {
    options.data.normalize = Normalize::standard;
    options.model.loss = losses::Mse{};
    options.model.inputs = 2;
    options.model.outputs = 1;
    here.input_names = {"t", "u"};
  }

  [[nodiscard]] KeptScaling kept(const TakenEnds& taken = all) const {
    return kept_scaling(stored, options, here, taken, {});
  }
  /// The line says why neither is kept, and initial.normalization = "keep" refuses it.
  void expect_inputs_of_own_data(std::string_view why) {
    const KeptScaling result = kept();
    EXPECT_FALSE(result.given.inputs.has_value());
    EXPECT_NE(result.line.find(why), std::string::npos) << result.line;
    options.initial.normalization = InitialNormalization::keep;
    EXPECT_TRUE(test::refuses(errors::model_mismatch, {"base.h5", "initial.normalization", "inputs", why},
                              [&] { static_cast<void>(kept()); }));
  }

  StoredScaling stored{.path = "base.h5",
                       .method = Normalize::standard,
                       .inputs = {{1, 2}, {3, 4}},
                       .targets = {{5}, {6}},
                       .samples = {.input_names = {"t", "u"}}};
  Options options;
  SampleMeaning here;
};

TEST_F(KeptScalings, AreThoseOfTheSameVariables) {
  for (const auto wanted : {InitialNormalization::automatic, InitialNormalization::keep}) {
    options.initial.normalization = wanted;
    const KeptScaling result = kept();
    EXPECT_EQ(result.given.inputs, stored.inputs);
    EXPECT_EQ(result.given.targets, stored.targets);
    EXPECT_EQ(result.line, "normalisation: inputs and targets kept from base.h5");
  }
}

TEST_F(KeptScalings, AreNoneIfTheDeckWantsItsOwn) {
  options.initial.normalization = InitialNormalization::recompute;
  const KeptScaling result = kept();
  EXPECT_FALSE(result.given.inputs.has_value() || result.given.targets.has_value());
  EXPECT_EQ(result.line, "normalisation: inputs and targets computed from this run's data");
}

TEST_F(KeptScalings, AreOfTheSidesWhoseLayersAreTaken) {
  const KeptScaling of_inputs = kept({.first = true, .last = false});
  EXPECT_EQ(of_inputs.given.inputs, stored.inputs);
  EXPECT_FALSE(of_inputs.given.targets.has_value());
  EXPECT_NE(of_inputs.line.find("inputs kept from base.h5; targets ("), std::string::npos) << of_inputs.line;
  EXPECT_EQ(kept({.first = false, .last = true}).given.targets, stored.targets);
  options.initial.normalization = InitialNormalization::keep;
  EXPECT_TRUE(test::refuses(errors::key_without_effect, {"initial.normalization"},
                            [&] { static_cast<void>(kept({})); }));
}

TEST_F(KeptScalings, NeedTheSameNumberOfVariables) {
  options.model.inputs = 3;
  here.input_names = {};
  expect_inputs_of_own_data("2 columns, and this run has 3");
}

TEST_F(KeptScalings, NeedTheSameNames) {
  here.input_names = {"u", "t"};
  expect_inputs_of_own_data("u, t");
  here.input_names = {};
  EXPECT_EQ(kept().given.inputs, stored.inputs) << "data without names are taken by number";
}

TEST_F(KeptScalings, NeedTheSameMethod) {
  options.data.normalize = Normalize::minmax;
  expect_inputs_of_own_data("\"minmax\" here and \"standard\" there");
}

TEST_F(KeptScalings, NeedAFileThatStatesThem) {
  stored.inputs = {};
  expect_inputs_of_own_data("does not state it");
}

TEST_F(KeptScalings, OfChannelsGoToAnotherGrid) {
  stored.inputs = {{1, 2, 1, 2}, {3, 4, 3, 4}};  // two points of two channels
  stored.targets = {{5, 5}, {6, 6}};
  options.model.shape = {3, 2};
  options.model.inputs = 6;
  options.model.outputs = 3;
  const KeptScaling result = kept();
  EXPECT_EQ(result.given.inputs, (ColumnScaling{{1, 2, 1, 2, 1, 2}, {3, 4, 3, 4, 3, 4}}));
  EXPECT_EQ(result.given.targets, (ColumnScaling{{5, 5, 5}, {6, 6, 6}}));
  stored.inputs.shift[2] = 7;  // of a point
  EXPECT_FALSE(kept().given.inputs.has_value());
}

TEST_F(KeptScalings, OfClassesAreOfInputsAlone) {
  options.model.loss = losses::CrossEntropy{};
  const KeptScaling result = kept();
  EXPECT_EQ(result.line, "normalisation: inputs kept from base.h5");
  EXPECT_FALSE(result.given.targets.has_value());
}

TEST_F(KeptScalings, OfARunThatNormalisesNothingAreNotMentioned) {
  options.data.normalize = Normalize::none;
  stored.method = Normalize::none;
  EXPECT_EQ(kept().line, "");
  options.initial.normalization = InitialNormalization::keep;
  EXPECT_TRUE(test::refuses(errors::key_without_effect, {"initial.normalization"},
                            [&] { static_cast<void>(kept()); }));
}

}  // namespace mylos::initial_normalization_test
