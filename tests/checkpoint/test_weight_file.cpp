// The weights in a file that a network begins with.
#include "mylos/checkpoint/file/weight_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "checkpoint/checkpoint_builders.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/checkpoint/write/writer.hpp"
#include "support/refusal.hpp"

namespace mylos::weight_file_test {

using test::SampleState;
using testing::ElementsAre;

class WeightFiles : public testing::Test {
 protected:
  std::string write() {
    SampleState sample = SampleState::filled(100);
    CheckpointState state = sample.view();
    return write_checkpoint(ranks, folder.path(), test::header_of(100), state, {});
  }

  RankGroup ranks{MPI_COMM_WORLD, 60};
  test::SharedFolder folder{ranks};
};

TEST_F(WeightFiles, ABitThatFlipsAfterTheFileWasOpenedIsNoticed) {
  const std::string path = write();
  WeightFile file(ranks, path);
  const WeightEntry& weight = file.entries().back();
  ASSERT_EQ(weight.name, "hidden0/weight");
  std::vector<float> values(static_cast<std::size_t>(weight.size()));
  file.read(weight, 0, values);
  EXPECT_EQ(values, SampleState::filled(100).weight);
  std::vector<float> bias(5);
  file.read(file.entries().front(), 0, bias);  // HDF5 keeps bytes of a dataset until it is closed
  EXPECT_EQ(bias, SampleState::filled(100).bias);
  ranks.barrier();
  if (ranks.rank() == 0) {
    std::fstream bytes(path, std::ios::binary | std::ios::in | std::ios::out);
    const std::string whole(std::istreambuf_iterator<char>(bytes), {});
    const std::string number(reinterpret_cast<const char*>(&values[1000]), sizeof(float));
    const std::size_t at = whole.find(number);
    ASSERT_NE(at, std::string::npos);
    bytes.seekp(static_cast<std::streamoff>(at)).put(static_cast<char>(number[0] ^ 1));
  }
  ranks.barrier();
  const std::span<float> all = values;
  WeightFile* const reader = &file;
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::damaged, {path, "/model/hidden0/weight"}, [&] {
    reader->read(weight, 0, all.first(500));
    reader->read(weight, 500, all.subspan(500));
  }));
  ranks.barrier();
}

TEST_F(WeightFiles, StatisticsAreNoWeightsInAFileOfOurs) {
  const auto names = [&](const std::map<std::string, std::string>& metadata) {
    const std::string path = folder.path() + "/net.safetensors";
    ranks.barrier();
    if (ranks.rank() == 0) {
      safetensors::Writer writer(path, DType::fp32, {{"hidden0.weight", {2}}, {"normalization.mean", {1}}},
                                 metadata);
      writer.write(std::vector<float>{1, 2});
      writer.write(std::vector<float>{3});
      writer.close();
    }
    ranks.barrier();
    const WeightFile file(ranks, path);
    std::vector<std::string> found;
    for (const WeightEntry& entry : file.entries()) found.push_back(entry.name);
    return found;
  };
  EXPECT_THAT(names({{WeightMetadata::layout, WeightMetadata::channels_first}}),
              ElementsAre("hidden0.weight"));
  // Elsewhere a layer may be called so.
  EXPECT_THAT(names({}), ElementsAre("hidden0.weight", "normalization.mean"));
}

}  // namespace mylos::weight_file_test
