// Model files: the container of checkpoints under another name, whose weights may be stored in 16 bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "checkpoint/checkpoint_builders.hpp"
#include "mylos/base/dispatch.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/checkpoint/file/describe.hpp"
#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/checkpoint/file/user_block.hpp"
#include "mylos/checkpoint/file/verify.hpp"
#include "mylos/checkpoint/write/folder.hpp"
#include "mylos/checkpoint/write/writer.hpp"
#include "support/refusal.hpp"

namespace mylos::model_kind_test {

using testing::HasSubstr;

// An odd number, larger than the numbers of elements that pass through the host at a time.
constexpr std::int64_t rows = 2003, columns = 1201, size = rows * columns;

float number(std::int64_t i) {
  return i == 3   ? std::numeric_limits<float>::infinity()
         : i == 4 ? -0.0f
                  : std::sin(static_cast<float>(i)) * 3;
}

class ModelKind : public testing::Test {
 protected:
  template <class T>
  static std::vector<T> values() {
    std::vector<T> all;
    for (std::int64_t i = 0; i < size; ++i) all.push_back(from_float<T>(number(i)));
    return all;
  }
  /// Writes a file of this kind whose weights are T in memory and file, and a statistic.
  template <class T>
  void write(FileKind kind, const char* weights = "/model/a/weight") {
    std::vector<T> stored = values<T>();
    CheckpointState state;
    StateArray array{weights, dtype_of<T>, {rows, columns}, {}};
    array.pieces.push_back({0, size, stored.data()});
    state.arrays.push_back(std::move(array));
    state.add_host("/buffers/a/mean", &mean, {1});
    CheckpointHeader header = test::header_of(7);
    header.kind = kind;
    write_checkpoint_file(ranks, path, header, state);
  }
  /// Reads the weights into memory of type T.
  template <class T>
  std::vector<T> read() {
    std::vector<T> found(static_cast<std::size_t>(size));
    CheckpointState state;
    state.add_weights("/model/a/weight", 0, Tensor(found.data(), dtype_of<T>, rows, columns), {rows, columns},
                      false);
    CheckpointReader(ranks, path, ReadableKinds::all).read(state);
    return found;
  }
  template <class T>
  static bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
  }

  RankGroup ranks{MPI_COMM_WORLD, 60};
  test::SharedFolder folder{ranks};
  std::string path = folder.path() + "/model.h5";
  float mean = 0.25f;
};

TEST_F(ModelKind, WeightsOf16BitsAreReadUnchanged) {
  write<half>(FileKind::model);
  EXPECT_TRUE(same_bits(read<half>(), values<half>()));
  ranks.barrier();
  write<bfloat16>(FileKind::model);
  EXPECT_TRUE(same_bits(read<bfloat16>(), values<bfloat16>()));
}

TEST_F(ModelKind, WeightsOf16BitsAreWidenedIntoFloats) {
  write<half>(FileKind::model);
  std::vector<float> expected;
  for (const half value : values<half>()) expected.push_back(to_float(value));
  EXPECT_TRUE(same_bits(read<float>(), expected));
  ranks.barrier();
  write<bfloat16>(FileKind::model);
  expected.clear();
  for (const bfloat16 value : values<bfloat16>()) expected.push_back(to_float(value));
  EXPECT_TRUE(same_bits(read<float>(), expected));
}

TEST_F(ModelKind, FloatsAreRoundedOnceAsInACheckpoint) {
  write<float>(FileKind::model);
  EXPECT_TRUE(same_bits(read<float>(), values<float>()));
  EXPECT_TRUE(same_bits(read<half>(), values<half>()));
  EXPECT_TRUE(same_bits(read<bfloat16>(), values<bfloat16>()));
}

TEST_F(ModelKind, WeightsOf16BitsAreNotRoundedASecondTime) {
  write<half>(FileKind::model);
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::model_mismatch,
                            {path, "/model/a/weight", "float16", "bfloat16", "--type bf16"},
                            [&] { (void)read<bfloat16>(); }));
  ranks.barrier();
  write<bfloat16>(FileKind::model);
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::model_mismatch,
                            {path, "/model/a/weight", "bfloat16", "float16", "--type fp16"},
                            [&] { (void)read<half>(); }));
}

TEST_F(ModelKind, OnlyWeightsOfAModelFileMayHave16Bits) {
  write<half>(FileKind::checkpoint);
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::model_mismatch,
                            {"/model/a/weight", "float16", "float32"}, [&] { (void)read<half>(); }));
  ranks.barrier();
  write<half>(FileKind::model, "/average/a/weight");
  std::vector<half> found(static_cast<std::size_t>(size));
  CheckpointState state;
  state.add_weights("/average/a/weight", 0, Tensor(found.data(), DType::fp16, rows, columns), {rows, columns},
                    false);
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::restart_mismatch, {"/average/a/weight", "float16"},
                            [&] { CheckpointReader(ranks, path, ReadableKinds::all).read(state); }));
}

TEST_F(ModelKind, ReadersOfCheckpointsRefuseAModelFileByName) {
  write<half>(FileKind::model);
  EXPECT_EQ(kind_of_file(path), FileKind::model);
  EXPECT_EQ(CheckpointReader(ranks, path, ReadableKinds::all).header().kind, FileKind::model);
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::weights_only, {path, "model file"},
                            [&] { const CheckpointReader reader(ranks, path); }));
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::weights_only, {path, "model file"},
                            [&] { (void)find_checkpoint(ranks, folder.path(), path); }));
}

TEST_F(ModelKind, IsDescribedAndVerifiedLikeACheckpoint) {
  write<bfloat16>(FileKind::model);
  const std::string text = describe_checkpoint(ranks, path);
  EXPECT_THAT(text, HasSubstr("mylos-model 1, digest verified"));
  EXPECT_THAT(text, HasSubstr("bfloat16"));
  EXPECT_EQ(verify_contents(path).step, 7);
  ranks.barrier();
  run_on_first(ranks, [&] {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    const int byte = file.seekg(100'001).get();
    file.seekp(100'001).put(static_cast<char>(byte ^ 4));
  });
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::damaged, {path},
                            [&] { const CheckpointReader reader(ranks, path, ReadableKinds::all); }));
}

TEST_F(ModelKind, IsRefusedUnderTheNameOfTheOtherKind) {
  write<float>(FileKind::model);
  run_on_first(ranks, [&] { write_user_block(path, contents_digest(path), FileKind::checkpoint); });
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::wrong_format, {path, "checkpoint"},
                            [&] { const CheckpointReader reader(ranks, path); }));
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::damaged, {path, "format"},
                            [&] { (void)verify_contents(path); }));
}

}  // namespace mylos::model_kind_test
