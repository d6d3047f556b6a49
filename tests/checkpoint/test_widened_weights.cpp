// Weights that are stored in memory in 16 bits and in the file in float, for every writer.
#include <gtest/gtest.h>

#include <cmath>

#include "checkpoint/checkpoint_builders.hpp"
#include "mylos/base/dispatch.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/base/float16.hpp"
#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/checkpoint/write/background_writer.hpp"
#include "mylos/checkpoint/write/folder.hpp"
#include "mylos/checkpoint/write/piece_writer.hpp"
#include "mylos/checkpoint/write/replicas.hpp"
#include "mylos/checkpoint/write/writer.hpp"

namespace mylos::widened_weights_test {

// An odd number, larger than the numbers of elements converted, and passed through the host, at a time.
constexpr std::int64_t rows = 1201, columns = 1001, size = rows * columns;

template <class T>
struct Type {
  using type = T;
};

template <class Tag>
class WidenedWeights : public testing::Test {
 protected:
  using T = typename Tag::type;

  static float number(std::int64_t i) { return std::sin(static_cast<float>(i)) * 3; }
  static std::vector<T> weights(std::int64_t first, std::int64_t count) {
    std::vector<T> values;
    for (std::int64_t i = first; i < first + count; ++i) values.push_back(from_float<T>(number(i)));
    return values;
  }
  static void add(CheckpointState& state, const char* path, std::int64_t first, std::vector<T>& values,
                  std::vector<std::int64_t> dims, bool sharded) {
    const Tensor held(values.data(), dtype_of<T>, 1, static_cast<std::int64_t>(values.size()));
    state.add_weights(path, first, held, std::move(dims), sharded);
  }
  /// A vector that gives the matrix after it an odd offset in the file, and all or a part of the matrix.
  CheckpointState state_of(std::vector<T>& matrix, std::int64_t first, bool sharded) {
    CheckpointState state;
    add(state, "/model/a/bias", 0, bias, {5}, false);
    add(state, "/model/a/weight", first, matrix, {rows, columns}, sharded);
    return state;
  }
  [[nodiscard]] CheckpointHeader header(std::int64_t step) const {
    return test::header_of(static_cast<int>(step));
  }

  void expect_file(const std::string& path) {
    ranks.barrier();
    const CheckpointReader reader(ranks, path);
    std::vector<float> vector(5), matrix(static_cast<std::size_t>(size));
    CheckpointState floats;
    floats.add_device("/model/a/bias", vector.data(), {5});
    floats.add_device("/model/a/weight", matrix.data(), {rows, columns});
    reader.read(floats);
    const std::vector<T> expected = weights(0, size);
    for (std::size_t i = 0; i < matrix.size(); ++i) ASSERT_EQ(matrix[i], to_float(expected[i])) << i;
    for (std::size_t i = 0; i < vector.size(); ++i) ASSERT_EQ(vector[i], to_float(bias[i])) << i;

    std::vector<T> again(static_cast<std::size_t>(size));
    CheckpointState held = state_of(again, 0, false);
    reader.read(held);
    EXPECT_EQ(std::memcmp(again.data(), expected.data(), again.size() * sizeof(T)), 0);
  }

  RankGroup ranks{MPI_COMM_WORLD, 60};
  test::SharedFolder folder{ranks};
  std::vector<T> bias = weights(7, 5);
};

using Types = testing::Types<Type<half>, Type<bfloat16>>;
TYPED_TEST_SUITE(WidenedWeights, Types);

TYPED_TEST(WidenedWeights, AreFloatsInAFileOfAllRanks) {
  auto matrix = this->weights(0, size);
  const CheckpointState state = this->state_of(matrix, 0, false);
  this->expect_file(write_checkpoint(this->ranks, this->folder.path(), this->header(1), state, {}));
}

TYPED_TEST(WidenedWeights, InPiecesOfRanksAreToo) {
  const std::int64_t begin = size * this->ranks.rank() / this->ranks.size();
  const std::int64_t end = size * (this->ranks.rank() + 1) / this->ranks.size();
  auto part = this->weights(begin, end - begin);
  const CheckpointState state = this->state_of(part, begin, true);
  this->expect_file(write_checkpoint(this->ranks, this->folder.path(), this->header(1), state, {}));

  PieceWriter writer(this->ranks, state);
  writer.begin(this->folder.path(), this->header(2), state, {});
  static_cast<void>(writer.wait());
  this->expect_file(checkpoint_path(this->folder.path(), 2));
}

TYPED_TEST(WidenedWeights, AreFloatsInAFileOfTheBackgroundWriter) {
  auto matrix = this->weights(0, size);
  const CheckpointState state = this->state_of(matrix, 0, false);
  run_on_first(this->ranks, [&] {
    EXPECT_LT(StateCopy::memory_bytes(state), static_cast<std::size_t>(size) * 2 + 4096);
    BackgroundWriter writer(state);
    writer.begin(this->folder.path(), this->header(1), state, {});
    const auto outcome = writer.wait();
    ASSERT_TRUE(outcome);
    EXPECT_FALSE(outcome->error) << outcome->error->what();
  });
  this->expect_file(checkpoint_path(this->folder.path(), 1));
}

TYPED_TEST(WidenedWeights, AreRoundedToNearestFromFloatsWithMoreDigits) {
  std::vector<float> masters(static_cast<std::size_t>(size)), vector(5);
  for (std::int64_t i = 0; i < size; ++i) masters[static_cast<std::size_t>(i)] = this->number(i);
  CheckpointState state;
  state.add_device("/model/a/bias", vector.data(), {5});
  state.add_device("/model/a/weight", masters.data(), {rows, columns});
  const std::string path = write_checkpoint(this->ranks, this->folder.path(), this->header(1), state, {});
  std::vector<typename TypeParam::type> found(static_cast<std::size_t>(size));
  CheckpointState held = this->state_of(found, 0, false);
  CheckpointReader(this->ranks, path).read(held);
  const auto expected = this->weights(0, size);
  EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.size() * 2), 0);
}

TYPED_TEST(WidenedWeights, ThatDifferInABitAreFoundOnTheRankThatHasThem) {
  auto matrix = this->weights(0, size);
  const CheckpointState state = this->state_of(matrix, 0, false);
  EXPECT_NO_THROW(require_equal_replicas(this->ranks, Execution(), state));
  const std::uint64_t before = state_checksum(Execution(), state);
  const auto last = static_cast<std::size_t>(size - 1);  // of an odd number
  matrix[last] = from_float<typename TypeParam::type>(to_float(matrix[last]) + 1);
  EXPECT_NE(state_checksum(Execution(), state), before);
}

}  // namespace mylos::widened_weights_test
