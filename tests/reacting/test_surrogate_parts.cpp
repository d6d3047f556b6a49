// The parts of the surrogate that need no network: the encoding of cells, the trust in bins, the window.
#include <gtest/gtest.h>
#include <Kokkos_Core.hpp>

#include <cmath>
#include <limits>

#include "trust.hpp"
#include "window.hpp"

namespace reacting {

namespace {

CellState cell_at(double y2_value, double y3_value, double t) {
  return {1, y2_value, y3_value, rates_at(t), t};
}

TEST(Encoding, DecodesItsOwnTarget) {
  for (const double y3_before : {0.0, 0.3, 0.9}) {
    for (const double change : {1e-6, 1e-4, 1e-2}) {
      const CellState before = cell_at(1e-6, y3_before, 1.1);
      const Pair<double> after = decode(before, target_of(before, y3_before + change, 0.2), 0.2);
      EXPECT_NEAR(after.y3 - y3_before, change, 1e-5 * change + 1e-12);
      EXPECT_EQ(after.y2, quasi_steady_y2(before.k, 1, after.y3));
    }
  }
}

TEST(Encoding, NoOutputLeavesTheRange) {
  constexpr float huge = std::numeric_limits<float>::max();
  for (const double y3_before : {0.0, 1e-9, 0.5, 1.0}) {
    for (const float output : {-huge, -1.0f, 0.0f, 1.0f, 1e3f, huge}) {
      const CellState before = cell_at(0, y3_before, 1.2);
      const Pair<double> after = decode(before, output, 0.2);
      EXPECT_GE(after.y3, y3_before);
      EXPECT_LE(after.y3, 1);
      EXPECT_GE(after.y2, 0);
      EXPECT_GE(1 - after.y3 - after.y2, 0) << y3_before << ' ' << output;
    }
  }
}

TEST(Trust, BinsCoverTheRangeAndNothingElse) {
  const float low[3] = {-1, -1, -1};
  const float high[3] = {1, 1, 1};
  const float outside[3] = {0, 0, 1.001f};
  const float nan[3] = {0, std::nanf(""), 0};
  EXPECT_EQ(bin_of(low), 0);
  EXPECT_EQ(bin_of(high), bins - 1);
  EXPECT_EQ(bin_of(outside), -1);
  EXPECT_EQ(bin_of(nan), -1);
}

/// One rank adds `count` checks with this error to a bin.
void add_checks(Trust& trust, int bin, int count, double error_by_bound) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const auto checks = trust.checks;
  Kokkos::parallel_for(
      "add", rank == 0 ? count : 0, KOKKOS_LAMBDA(int) { checks.add(bin, error_by_bound); });
  trust.merge(MPI_COMM_WORLD);
}

bool trusts(const Trust& trust, int bin) {
  return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(),
                                             trust.trusted)(static_cast<std::size_t>(bin)) != 0;
}

TEST(Trust, NeedsEnoughChecksWithinTheBound) {
  Trust trust(0.01);
  add_checks(trust, 3, 7, 0.5);
  EXPECT_FALSE(trusts(trust, 3)) << "seven checks are too few";
  add_checks(trust, 3, 1, 0.5);
  EXPECT_TRUE(trusts(trust, 3));
  EXPECT_FALSE(trusts(trust, 4)) << "nothing is known of another bin";
  EXPECT_NEAR(trust.last_error(), 0.005, 1e-8);
}

TEST(Trust, IsLostByErrorsAndForgetsThem) {
  Trust trust(0.01);
  add_checks(trust, 3, 64, 0.5);
  add_checks(trust, 3, 8, 4);  // mean square (56 / 4 + 8 * 16) / 64 > 1
  EXPECT_FALSE(trusts(trust, 3));
  add_checks(trust, 3, 64, 0.5);
  EXPECT_TRUE(trusts(trust, 3));
  add_checks(trust, 3, 1, std::nan(""));
  EXPECT_FALSE(trusts(trust, 3));
}

TEST(Window, KeepsTheNewestAndDrawsFromThem) {
  Window window(8, 32);
  window.draw(1);
  EXPECT_EQ(window.batch_inputs().extent(0), 0u);
  const Rows inputs("inputs", 12, inputs_of_network);
  const Rows targets("targets", 12, 1);
  Kokkos::parallel_for(
      "set", 12, KOKKOS_LAMBDA(int i) { targets(i, 0) = static_cast<float>(i); });
  window.append(inputs, targets, 5);
  window.append(inputs, targets, 12);  // more than it holds
  EXPECT_EQ(window.appended, 17);
  window.draw(2);
  ASSERT_EQ(window.batch_targets().extent(0), 32u);
  const auto drawn = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), window.batch_targets());
  bool seen[12] = {};
  for (std::size_t i = 0; i < 32; ++i) seen[static_cast<std::size_t>(drawn(i, 0))] = true;
  for (std::size_t i = 0; i < 4; ++i) EXPECT_FALSE(seen[i]) << "replaced by newer ones";
  int different = 0;
  for (const bool value : seen) different += value ? 1 : 0;
  EXPECT_GT(different, 4);
}

}  // namespace

}  // namespace reacting
