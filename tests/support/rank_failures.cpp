#include "support/rank_failures.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace mylos::test {
namespace {

/// In one piece: other ranks print too.
void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace

void RankFailures::OnTestStart(const testing::TestInfo& test) {
  running_ = fmt::format("{}.{}", test.test_suite_name(), test.name());
}

void RankFailures::OnTestPartResult(const testing::TestPartResult& result) {
  if (!result.failed()) return;
  const std::string location = result.file_name() == nullptr
                                   ? "unknown file"
                                   : fmt::format("{}:{}", result.file_name(), result.line_number());
  print(fmt::format("{}: Failure on rank {}{}{}\n{}\n", location, rank_, running_.empty() ? "" : ", in ",
                    running_, result.message()));
}

void RankFailures::OnTestEnd(const testing::TestInfo& test) {
  if (test.result()->Failed()) print(fmt::format("[  FAILED  ] {} on rank {}\n", running_, rank_));
  running_.clear();
}

}  // namespace mylos::test
