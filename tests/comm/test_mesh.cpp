// The arithmetic of the mesh, against a list of all boxes.
#include "mylos/comm/ranks/mesh.hpp"

#include <gtest/gtest.h>

#include <map>

#include "mylos/base/errors/command_line.hpp"
#include "support/refusal.hpp"

namespace mylos::mesh_test {

using Place = std::array<std::int64_t, 3>;

/// Every space of up to three axes with up to three boxes along each.
std::vector<std::vector<std::int64_t>> small_spaces() {
  std::vector<std::vector<std::int64_t>> spaces{{}};
  for (std::size_t i = 0; i < spaces.size(); ++i) {
    if (spaces[i].size() == 3) continue;
    for (const std::int64_t boxes : {1, 2, 3}) {
      spaces.push_back(spaces[i]);
      spaces.back().push_back(boxes);
    }
  }
  return spaces;
}

/// Returns the boxes along depth, height and width.
Place boxes_of(const std::vector<std::int64_t>& space) {
  Place boxes{1, 1, 1};
  for (std::size_t i = 0; i < space.size(); ++i) boxes[3 - space.size() + i] = space[i];
  return boxes;
}

/// Calls body(mesh, rank, batch rank, place, ranks of the places in this batch rank) for every rank.
template <class Body>
void for_each_rank(const std::vector<std::int64_t>& space, int batch_ranks, const Body& body) {
  const Place boxes = boxes_of(space);
  const auto count = static_cast<int>(boxes[0] * boxes[1] * boxes[2]);
  for (int batch_rank = 0, rank = 0; batch_rank < batch_ranks; ++batch_rank) {
    std::map<Place, int> ranks;
    for (std::int64_t d = 0; d < boxes[0]; ++d)
      for (std::int64_t h = 0; h < boxes[1]; ++h)
        for (std::int64_t w = 0; w < boxes[2]; ++w) ranks[{d, h, w}] = rank++;
    for (const auto& [place, own] : ranks)
      body(Mesh({.space = space}, own, batch_ranks * count), own, batch_rank, place, ranks);
  }
}

TEST(Mesh, NumbersBoxesRowByRowAndGroupsConsecutiveRanks) {
  const auto spaces = small_spaces();
  ASSERT_EQ(spaces.size(), 40u);
  for (const auto& space : spaces) {
    for (const int batch_ranks : {1, 2, 3}) {
      for_each_rank(space, batch_ranks,
                    [&](const Mesh& mesh, int, int batch_rank, const Place& place, const auto& ranks) {
                      EXPECT_EQ(mesh.part(), (GridPart{boxes_of(space), place}));
                      EXPECT_EQ(mesh.boxes(), static_cast<int>(ranks.size()));
                      EXPECT_EQ(mesh.batch_rank(), batch_rank);
                      EXPECT_EQ(mesh.batch_ranks(), batch_ranks);
                      std::vector<int> in_order;
                      for (const auto& [at, rank] : ranks) in_order.push_back(rank);
                      EXPECT_EQ(mesh.sample_ranks(), in_order);
                    });
    }
  }
}

TEST(Mesh, FindsNeighboursAlongEachAxis) {
  for (const auto& space : small_spaces()) {
    const Place boxes = boxes_of(space);
    for_each_rank(space, 2, [&](const Mesh& mesh, int, int, const Place& place, const auto& ranks) {
      for (std::size_t axis = 0; axis < 3; ++axis) {
        for (const int direction : {-1, 1}) {
          Place next = place;
          next[axis] += direction;
          const bool is_beyond = next[axis] < 0 || next[axis] == boxes[axis];
          if (is_beyond) {
            EXPECT_EQ(mesh.neighbour(axis, direction, false), std::nullopt);
            next[axis] = next[axis] < 0 ? boxes[axis] - 1 : 0;
          } else {
            EXPECT_EQ(mesh.neighbour(axis, direction, false), ranks.at(next));
          }
          EXPECT_EQ(mesh.neighbour(axis, direction, true), ranks.at(next));
        }
      }
    });
  }
}

TEST(Mesh, WithoutASpaceLeavesSamplesWhole) {
  const Mesh mesh({}, 3, 5);
  EXPECT_EQ(mesh.part(), GridPart{});
  EXPECT_EQ(mesh.boxes(), 1);
  EXPECT_EQ(mesh.batch_rank(), 3);
  EXPECT_EQ(mesh.batch_ranks(), 5);
  EXPECT_EQ(mesh.sample_ranks(), std::vector{3});
}

TEST(Mesh, DividesTheBoxesOfSumsAmongTheRanks) {
  const auto sums = [](const std::vector<std::int64_t>& space, const std::vector<std::int64_t>& all) {
    return Mesh({.space = space, .sums = all}, 0, 4).part().sums;
  };
  EXPECT_EQ(sums({2, 2}, {}), (Place{1, 1, 1}));
  EXPECT_EQ(sums({}, {4, 2}), (Place{1, 4, 2}));
  EXPECT_EQ(sums({2, 1}, {4, 2}), (Place{1, 2, 2}));
  EXPECT_EQ(sums({2, 2, 1}, {2, 4, 8}), (Place{1, 2, 8}));
}

/// The first boxes have one unit more; together they have each unit once.
TEST(Mesh, DividesUnitsThatTheBoxesDoNotDivide) {
  for (const std::int64_t units : {2, 3, 5, 7, 9, 24, 721}) {
    for (std::int64_t boxes = 1; boxes <= std::min<std::int64_t>(units, 7); ++boxes) {
      std::int64_t end = 0;
      double weights = 0;
      for (int rank = 0; rank < boxes; ++rank) {
        const GridPart part =
            Mesh({.space = {boxes, 1}, .units = {units, 0}}, rank, static_cast<int>(boxes)).part();
        const std::int64_t own = units / boxes + (rank < units % boxes ? 1 : 0);
        EXPECT_EQ(part.own_extent(1, 8 * units), 8 * own);
        EXPECT_EQ(part.first_point(1, 8 * units), 8 * end);
        EXPECT_EQ(part.whole_extent(1, 8 * own), 8 * units);
        EXPECT_EQ(part.own_extent(2, 5), 5);
        EXPECT_EQ(part.whole_points({1, own, 3}), 3 * units);
        EXPECT_EQ(part.is_uneven(), units % boxes != 0);
        EXPECT_NEAR(part.weight(), static_cast<double>(own * boxes) / static_cast<double>(units), 1e-15);
        weights += part.weight();
        end += own;
      }
      EXPECT_EQ(end, units);
      EXPECT_NEAR(weights, static_cast<double>(boxes), 1e-12);
    }
  }
}

TEST(Mesh, RefusesRanksThatAreNoMultipleOfTheBoxes) {
  const auto refuses = [](const std::vector<std::int64_t>& space, int ranks,
                          std::initializer_list<std::string_view> parts) {
    return test::refuses(ExitCode::bad_input, errors::wrong_rank_count, parts,
                         [&] { (void)Mesh({.space = space}, 0, ranks); });
  };
  EXPECT_TRUE(refuses({2, 2}, 6,
                      {"mesh.space = [2, 2]", "over 4 ranks", "the 6 ranks", "start 4 or 8 ranks",
                       "into 1, 2, 3 or 6 boxes"}));
  EXPECT_TRUE(refuses({4}, 1, {"mesh.space = [4]", "the 1 rank ", "start 4 ranks", "into 1 box"}));
  EXPECT_TRUE(refuses({65536, 65536, 65536}, 4, {"281474976710656", "into 1, 2 or 4 boxes"}));
}

}  // namespace mylos::mesh_test
