// Failures of tests on ranks whose GoogleTest does not print.
#pragma once

#include <gtest/gtest.h>

namespace mylos::test {

/// Prints every failure of a rank, with its number, as soon as it happens: the rank may not reach its end.
class RankFailures final : public testing::EmptyTestEventListener {
 public:
  explicit RankFailures(int rank) : rank_(rank) {}
  void OnTestStart(const testing::TestInfo& test) override;
  void OnTestPartResult(const testing::TestPartResult& result) override;
  void OnTestEnd(const testing::TestInfo& test) override;

 private:
  int rank_;
  std::string running_;  // "" between tests
};

}  // namespace mylos::test
