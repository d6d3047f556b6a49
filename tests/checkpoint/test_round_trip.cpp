#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/checkpoint_builders.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/checkpoint/file/describe.hpp"
#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/checkpoint/write/folder.hpp"
#include "mylos/checkpoint/write/writer.hpp"
#include "support/refusal.hpp"

namespace mylos::round_trip_test {

using test::SampleState;
using testing::HasSubstr;

class RoundTrip : public testing::Test {
 protected:
  std::string write(int step) {
    SampleState state = SampleState::filled(step);
    return write_checkpoint(ranks, folder.path(), test::header_of(step), state.view(), {});
  }
  void read(const std::string& path, CheckpointState state) {
    const CheckpointReader reader(ranks, path);
    reader.read(state);
  }
  /// Returns whether the file is refused for a run that needs `state`.
  testing::AssertionResult refuses(const std::string& path, const CheckpointState& state, ErrorId id,
                                   std::initializer_list<std::string_view> parts) {
    return test::refuses(ExitCode::bad_input, id, parts, [&] { read(path, state); });
  }

  RankGroup ranks{MPI_COMM_WORLD, 60};
  test::SharedFolder folder{ranks};
};

TEST_F(RoundTrip, WhatIsReadIsWhatWasWrittenBitForBit) {
  const std::string path = write(500);
  EXPECT_EQ(path, folder.path() + "/checkpoints/step-0000000500.h5");
  const CheckpointReader reader(ranks, path);
  SampleState state;
  CheckpointState view = state.view();
  view.texts[0].text.clear();
  reader.read(view);
  EXPECT_TRUE(state.same_bits(SampleState::filled(500)));
  EXPECT_EQ(view.texts[0].text, "fashion, 60000 samples");
  EXPECT_EQ(reader.header().step, 500);
  EXPECT_EQ(reader.header().deck, test::header_of(500).deck);
  EXPECT_EQ(reader.header().code_version, "0.1.0-test");
  EXPECT_EQ(reader.header().world_size, ranks.size());
  EXPECT_EQ(reader.header().created.size(), std::string("2026-11-21T09:30:00Z").size());
  EXPECT_EQ(reader.dims("/optimizer/norms"), (std::vector<std::int64_t>{7, 11, 13}));
  EXPECT_FALSE(reader.exists("/history"));
}

TEST_F(RoundTrip, AnArrayOfMoreThanOnePieceArrivesWhole) {
  std::vector<float> large((std::size_t{9} << 20) / sizeof(float) + 5);
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<float>(i % 1013);
  CheckpointState state;
  state.add_host("/model/large", large.data(), {static_cast<std::int64_t>(large.size())});
  const std::string path = write_checkpoint(ranks, folder.path(), test::header_of(1), state, {});
  const std::vector<float> written = large;
  std::fill(large.begin(), large.end(), 0.0f);
  CheckpointReader(ranks, path).read(state);
  EXPECT_EQ(large, written);
}

TEST_F(RoundTrip, NothingIsLeftBesideTheFileAndTheNameOfTheLatest) {
  write(500);
  write(1000);
  ranks.barrier();
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path() + "/checkpoints")) {
    names.push_back(entry.path().filename().string());
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre("step-0000000500.h5", "step-0000001000.h5", "latest"));
}

TEST_F(RoundTrip, AMismatchNamesTheFirstParameterThatDiffers) {
  const std::string path = write(1);
  SampleState sample;
  CheckpointState narrower = sample.view();
  narrower.arrays[0].dims = {29, 37};
  narrower.arrays[1].dims = {6};
  EXPECT_TRUE(refuses(path, narrower, errors::model_mismatch,
                      {path + ": /model/hidden0/weight is [37, 29]", "[29, 37]"}));

  CheckpointState deeper = sample.view();
  deeper.add_device("/model/hidden1/weight", sample.bias.data(), {5});
  EXPECT_TRUE(
      refuses(path, deeper, errors::model_mismatch, {path + ": has no /model/hidden1/weight", "[5]"}));

  CheckpointState shallower = sample.view();
  shallower.arrays.erase(shallower.arrays.begin() + 1);
  EXPECT_TRUE(refuses(path, shallower, errors::model_mismatch, {path + ": has /model/hidden0/bias"}));

  std::vector<double> wide(5);
  CheckpointState retyped = sample.view();
  retyped.arrays[1].pieces[0].data = wide.data();
  retyped.arrays[1].type = DType::fp64;
  EXPECT_TRUE(
      refuses(path, retyped, errors::model_mismatch, {"/model/hidden0/bias holds float32", "float64"}));

  CheckpointState only_model = sample.view();
  only_model.arrays.resize(2);
  only_model.texts.clear();
  EXPECT_NO_THROW(read(path, only_model)) << "groups that a reader does not ask for are none of its business";
}

TEST_F(RoundTrip, TablesOfTheHistoryAreReadOneByOne) {
  std::vector<double> column(3);
  const auto with = [&](const std::vector<std::string>& paths) {
    CheckpointState state;
    for (const std::string& path : paths) state.add_host(path, column.data(), {3});
    return state;
  };
  const std::string path =
      write_checkpoint(ranks, folder.path(), test::header_of(1),
                       with({"/history/step", "/history/evaluations/step", "/history/evaluations/loss"}), {});
  EXPECT_NO_THROW(read(path, with({"/history/step"})));
  EXPECT_NO_THROW(read(path, with({"/history/evaluations/step", "/history/evaluations/loss"})));
  EXPECT_TRUE(refuses(path, with({"/history/evaluations/step"}), errors::restart_mismatch,
                      {path + ": has /history/evaluations/loss"}));
}

TEST_F(RoundTrip, InfoSaysWhatIsInTheFile) {
  const std::string text = describe_checkpoint(ranks, write(500));
  EXPECT_TRUE(looks_like_checkpoint(checkpoint_path(folder.path(), 500)));
  for (const char* line :
       {"mylos-checkpoint 3", "step 500", "by Mylos 0.1.0-test", "model: 1078 elements, 4.2",
        "hidden0/weight", "[37, 29]", "65536", "500000003500", "fashion, 60000 samples", "name = \"tiny\""}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

}  // namespace mylos::round_trip_test
