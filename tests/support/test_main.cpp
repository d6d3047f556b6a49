// main() of every test program: starts MPI and Kokkos, runs the tests of some source files
// (--file=test_x.cpp, less those of --gtest_filter=-...) or all. The first rank prints what GoogleTest
// prints; the others, their failures.
#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>
#include <cstdio>
#include <string>
#include <string_view>

#include "mylos/base/device/devices.hpp"
#include "mylos/base/error.hpp"
#include "support/instructions.hpp"
#include "support/leak_check.hpp"
#include "support/rank_failures.hpp"
#include "support/ranks.hpp"

namespace {

// The names of all tests defined in FILE, as a GoogleTest filter; empty when there is none.
std::string filter_of_file(std::string_view file) {
  std::string filter;
  const auto& unit = *testing::UnitTest::GetInstance();
  for (int s = 0; s < unit.total_test_suite_count(); ++s) {
    const auto& suite = *unit.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const auto& test = *suite.GetTestInfo(t);
      const std::string_view path = test.file();
      if (path.substr(path.find_last_of('/') + 1) != file) continue;
      filter += std::string(suite.name()) + "." + test.name() + ":";
    }
  }
  return filter;
}

}  // namespace

int main(int argument_count, char** arguments) {
  testing::InitGoogleTest(&argument_count, arguments);
  std::string files;  // their tests
  for (int i = 1; i < argument_count; ++i) {
    constexpr std::string_view option = "--file=";
    const std::string_view argument = arguments[i];
    if (!argument.starts_with(option)) continue;
    const std::string filter = filter_of_file(argument.substr(option.size()));
    if (filter.empty()) {
      std::fprintf(stderr, "no test is defined in the file of %s\n", arguments[i]);
      return 1;
    }
    files += filter;
  }
  if (!files.empty()) {
    const std::string& left_out = testing::GTEST_FLAG(filter);
    testing::GTEST_FLAG(filter) = left_out.starts_with('-') ? files + left_out : files;
  }
  if (testing::GTEST_FLAG(list_tests)) return RUN_ALL_TESTS();  // a list needs neither MPI nor a device
  try {
    if (const auto survey = mylos::survey_devices()) mylos::require_devices(*survey);
    if (!mylos::test::choose_instructions()) return mylos::test::skipped;
  } catch (const mylos::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  }
  mylos::test::start_ranks(&argument_count, &arguments);
  int result = 0;
  {
    const Kokkos::ScopeGuard guard(argument_count, arguments);
    const int rank = mylos::test::own_rank();
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    if (rank != 0) {
      delete listeners.Release(listeners.default_result_printer());
      listeners.Append(new mylos::test::RankFailures(rank));  // GoogleTest deletes it
    }
    result = RUN_ALL_TESTS();
    if (mylos::test::found_leaks()) result = 1;
    result = mylos::test::worst_of_ranks(result);
  }
  mylos::test::end_ranks();
  return result;
}
