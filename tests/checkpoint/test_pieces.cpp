// Arrays in pieces: of one rank, or distributed over all ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "checkpoint/checkpoint_builders.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/checkpoint/write/background_writer.hpp"
#include "mylos/checkpoint/write/folder.hpp"
#include "mylos/checkpoint/write/replicas.hpp"
#include "mylos/checkpoint/write/writer.hpp"
#include "support/refusal.hpp"

namespace mylos::pieces_test {

constexpr std::int64_t rows = 37, columns = 29, size = rows * columns;

/// A matrix and a vector that one rank holds completely.
class Pieces : public testing::Test {
 protected:
  static std::vector<float> numbers(std::int64_t count, float first) {
    std::vector<float> values(static_cast<std::size_t>(count));
    std::iota(values.begin(), values.end(), first);
    return values;
  }
  /// Returns these ranges of the matrix, stored in reverse order in memory.
  static StateArray matrix(std::vector<float>& matrix_memory, const std::vector<std::int64_t>& begins,
                           const std::vector<std::int64_t>& counts) {
    StateArray array{"/model/hidden1/weight", DType::fp32, {rows, columns}, {}, true};
    std::int64_t behind = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    matrix_memory.resize(static_cast<std::size_t>(behind));
    for (std::size_t i = 0; i < begins.size(); ++i) {
      behind -= counts[i];
      array.pieces.push_back({begins[i], counts[i], matrix_memory.data() + behind});
    }
    return array;
  }
  static void fill(const StateArray& array, float first) {
    for (const StatePiece& piece : array.pieces) {
      auto* values = static_cast<float*>(piece.data);
      std::iota(values, values + piece.count, first + static_cast<float>(piece.first));
    }
  }
  static void expect(const StateArray& array, float first) {
    for (const StatePiece& piece : array.pieces) {
      const auto* values = static_cast<const float*>(piece.data);
      EXPECT_EQ(std::vector<float>(values, values + piece.count),
                numbers(piece.count, first + static_cast<float>(piece.first)));
    }
  }
  /// Returns this rank's part of the matrix, sharded inside rows; the last rank holds the vector.
  CheckpointState own_part(std::vector<float>& matrix_memory, std::vector<float>& vector_memory,
                           int rank) const {
    const std::int64_t world = ranks.size();
    const std::int64_t begin = size * rank / world;
    const std::int64_t end = size * (rank + 1) / world;
    CheckpointState state;
    state.arrays.push_back(matrix(matrix_memory, {begin}, {end - begin}));
    StateArray bias{"/model/hidden1/bias", DType::fp32, {5}, {}, true};
    vector_memory.resize(5);
    if (rank == world - 1) bias.pieces.push_back({0, 5, vector_memory.data()});
    state.arrays.push_back(bias);
    for (StateArray& array : state.arrays) array.sharded = true;
    return state;
  }
  [[nodiscard]] testing::AssertionResult refuses(const CheckpointState& state,
                                                 std::initializer_list<std::string_view> parts) {
    return test::refuses(ExitCode::failed, errors::internal, parts,
                         [&] { write_checkpoint(ranks, folder.path(), test::header_of(1), state, {}); });
  }

  RankGroup ranks{MPI_COMM_WORLD, 60};
  test::SharedFolder folder{ranks};
  std::vector<float> memory, other, vector, other_vector;
};

TEST_F(Pieces, OfOneArrayAreWrittenAndReadAsIfItLayInOne) {
  CheckpointState in_three;
  in_three.arrays.push_back(matrix(memory, {0, 100, 900}, {100, 800, size - 900}));
  fill(in_three.arrays[0], 7);
  const std::string path = write_checkpoint(ranks, folder.path(), test::header_of(1), in_three, {});
  std::vector<float> whole(static_cast<std::size_t>(size));
  CheckpointState in_one;
  in_one.add_device("/model/hidden1/weight", whole.data(), {rows, columns});
  const CheckpointReader reader(ranks, path);
  reader.read(in_one);
  EXPECT_EQ(whole, numbers(size, 7));
  CheckpointState in_two;
  in_two.arrays.push_back(matrix(other, {0, 500}, {500, size - 500}));
  reader.read(in_two);
  expect(in_two.arrays[0], 7);
}

TEST_F(Pieces, AreCopiedForTheBackgroundWriter) {
  CheckpointState state;
  state.arrays.push_back(matrix(memory, {0, 100}, {100, size - 100}));
  fill(state.arrays[0], 3);
  if (ranks.rank() == 0) {
    BackgroundWriter writer(state);
    writer.begin(folder.path(), test::header_of(1), state, {});
    std::fill(memory.begin(), memory.end(), 0.0f);
    EXPECT_FALSE(writer.wait()->error);
  }
  ranks.barrier();
  CheckpointReader(ranks, checkpoint_path(folder.path(), 1)).read(state);
  expect(state.arrays[0], 3);
}

TEST_F(Pieces, OfAllRanksMakeOneFileThatAnySplitReads) {
  const CheckpointState own = own_part(memory, vector, ranks.rank());
  for (const StateArray& array : own.arrays) fill(array, 11);
  const std::string path = write_checkpoint(ranks, folder.path(), test::header_of(1), own, {});
  std::vector<float> whole(static_cast<std::size_t>(size)), bias(5);
  CheckpointState unsharded;
  unsharded.add_device("/model/hidden1/weight", whole.data(), {rows, columns});
  unsharded.add_device("/model/hidden1/bias", bias.data(), {5});
  const CheckpointReader reader(ranks, path);
  reader.read(unsharded);
  EXPECT_EQ(whole, numbers(size, 11));
  EXPECT_EQ(bias, numbers(5, 11));
  CheckpointState turned = own_part(other, other_vector, ranks.size() - 1 - ranks.rank());
  reader.read(turned);
  for (const StateArray& array : turned.arrays) expect(array, 11);
}

TEST_F(Pieces, ThatNoRankHoldsOrThatAreHeldTwiceAreNamed) {
  CheckpointState own = own_part(memory, vector, ranks.rank());
  if (ranks.rank() == ranks.size() - 1) own.arrays[0].pieces[0].count -= 1;
  EXPECT_TRUE(refuses(own, {"/model/hidden1/weight: element 1072 of 1073", "by no rank"}));
  own = own_part(memory, vector, ranks.rank());
  own.arrays[1].pieces = {{0, 3, vector.data()}, {2, 3, vector.data()}};
  EXPECT_TRUE(refuses(own, {"/model/hidden1/bias: element ", "of 5 ", " twice"}));
}

TEST_F(Pieces, OfShardedArraysDifferBetweenRanksThatHoldTheSame) {
  CheckpointState state = own_part(memory, vector, ranks.rank());
  fill(state.arrays[0], static_cast<float>(ranks.rank()));
  EXPECT_NO_THROW(require_equal_replicas(ranks, Execution(), state));
  CheckpointState whole;
  whole.arrays.push_back(matrix(other, {0, 100}, {100, size - 100}));
  fill(whole.arrays[0], 1);
  std::vector<float> flat = numbers(size, 1);
  CheckpointState same;
  same.add_device("/model/hidden1/weight", flat.data(), {rows, columns});
  EXPECT_EQ(state_checksum(Execution(), whole), state_checksum(Execution(), same));
}

}  // namespace mylos::pieces_test
