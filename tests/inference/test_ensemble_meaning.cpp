#include "mylos/inference/ensemble/ensemble_meaning.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/errors/samples.hpp"

namespace mylos {
namespace {

using testing::HasSubstr;

StoredNetwork member(const std::string& path) {
  StoredNetwork network;
  network.path = path;
  network.options.model.type = ModelType::mlp;
  network.options.model.hidden = {24, 8};
  network.options.model.loss = losses::Mse{};
  network.options.data.train = DataFiles("train.h5");
  network.training.identity = "0123";
  network.training.normalizer.targets = {{1, 2}, {3, 4}};
  network.samples.input_names = {"a", "b"};
  network.samples.target_names = {"y", "z"};
  return network;
}

void require_refused(const std::function<void(StoredNetwork&)>& change, ErrorId id, const std::string& text) {
  StoredNetwork other = member("b.h5");
  change(other);
  try {
    require_same_meaning(member("a.h5"), other);
    ADD_FAILURE() << "no error; expected " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::bad_input);
    EXPECT_EQ(error.id(), id) << error.message();
    EXPECT_THAT(error.message(), HasSubstr("b.h5"));
    EXPECT_THAT(error.message(), HasSubstr(text));
  }
}

TEST(EnsembleMeaning, MembersMayDifferInTheirTraining) {
  StoredNetwork other = member("b.h5");
  other.options.run.seed = 9;
  other.options.optimizer.lr = 1;
  other.options.model.dropout = 0.5;
  other.options.precision.compute = DType::fp32;
  other.options.data.batch = 7;
  EXPECT_NO_THROW(require_same_meaning(member("a.h5"), other));
}

TEST(EnsembleMeaning, NamesThatOneFileLacksAreNotCompared) {
  StoredNetwork other = member("b.h5");
  other.samples.input_names.clear();
  other.samples.target_names.clear();
  EXPECT_NO_THROW(require_same_meaning(member("a.h5"), other));
}

TEST(EnsembleMeaning, TheMessageSaysWhichMemberDiffersInWhat) {
  require_refused(
      [](StoredNetwork& other) {
        other.options.model.hidden = {24, 9};
      },
      errors::model_mismatch, "model.hidden is [24, 9], not [24, 8]");
  require_refused([](StoredNetwork& other) { other.options.model.loss = losses::L1{}; },
                  errors::model_mismatch, "model.loss is \"l1\", not \"mse\"");
  require_refused(
      [](StoredNetwork& other) {
        other.samples.input_names = {"b", "a"};
      },
      errors::bad_names, "inputs");
  require_refused(
      [](StoredNetwork& other) {
        other.samples.target_names = {"y", "w"};
      },
      errors::bad_names, "targets");
}

TEST(EnsembleMeaning, OtherDataAndScalingsAreRefused) {
  require_refused([](StoredNetwork& other) { other.training.identity = "4567"; }, errors::data_mismatch,
                  "digest 4567, not train.h5 of digest 0123");
  require_refused([](StoredNetwork& other) { other.training.normalizer.targets = {}; }, errors::data_mismatch,
                  "not scaled");
  require_refused([](StoredNetwork& other) { other.training.normalizer.targets.scale[1] = 5; },
                  errors::data_mismatch, "column 1 (counted from 0) are (2, 5), not (2, 4)");
}

}  // namespace
}  // namespace mylos
