#include "mylos/interchange/source/source_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

#include "model/source_networks.hpp"
#include "mylos/interchange/source/routines/c_routines.hpp"
#include "mylos/interchange/source/routines/fortran_routines.hpp"
#include "mylos/model/source/source_names.hpp"

namespace mylos::source_text_test {

using testing::HasSubstr;
using testing::Not;

TEST(SourceText, NumbersReadAsThemselvesAndAreNeverIntegers) {
  for (const float value : {0.0F, 1.0F, -3.0F, 0.1F, 1e30F, 1e-5F, 16777216.0F, 1.17549435e-38F}) {
    const std::string text = number_text(static_cast<double>(value), false);
    EXPECT_EQ(std::strtof(text.c_str(), nullptr), value) << text;
    EXPECT_NE(text.find_first_of(".e"), std::string::npos) << text;
    const std::string wide = number_text(static_cast<double>(value), true);
    EXPECT_EQ(std::strtod(wide.c_str(), nullptr), static_cast<double>(value)) << wide;
  }
}

TEST(SourceText, CommentsCannotEndOrContinue) {
  for (const char* text : {"a */ b", "/* a", "*\\/", "/\\*", "a\\",
                           "?"
                           "?"
                           "?/",
                           "tab\tand\nline", "\xc3\xa4"}) {
    const std::string safe = comment_text(text);
    for (const char* part : {"*/", "/*", "\\",
                             "?"
                             "?",
                             "\n", "\t"})
      EXPECT_THAT(safe, Not(HasSubstr(part))) << text;
  }
}

TEST(SourceText, LinesBreakBetweenItemsAndHaveTheWidth) {
  EXPECT_EQ(wrapped({"aaa", "bbb", "ccc"}, 2, 9, "  ", ""), "aaa,\n  bbb,\n  ccc");
  EXPECT_EQ(wrapped({"aaa", "bbb", "ccc"}, 2, 20, "  ", " &"), "aaa, bbb, ccc");
  EXPECT_EQ(wrapped({"aaa", "bbb", "ccc"}, 2, 12, "  ", " &"), "aaa, &\n  bbb, ccc");
}

TEST(SourceText, NamesAreNoKeywordsOfAnyLanguage) {
  for (const char* name : {"if", "For", "END", "subroutine", "namespace", "restrict", "double", "tanh", "",
                           "9a", "_a", "a-b", "a b", "\xc3\xa4"})
    EXPECT_FALSE(is_source_name(name)) << name;
  EXPECT_FALSE(is_source_name(std::string(41, 'a')));
  for (const char* name : {"net", "Net_2", "iffy", "closure"}) EXPECT_TRUE(is_source_name(name)) << name;
}

TEST(SourceText, EveryCalledRoutineStandsBeforeItsCallerInBothTables) {
  for (const auto& table : {c_routines(false), c_routines(true), fortran_routines()}) {
    std::set<std::string_view> before;
    for (const SourceRoutine& routine : table) {
      for (const std::string_view called : routine.calls)
        EXPECT_TRUE(before.contains(called)) << routine.name << " calls " << called;
      EXPECT_TRUE(before.insert(routine.name).second) << routine.name;
    }
  }
}

TEST(SourceText, FilesHaveTheFunctionsThatAreAskedFor) {
  SourceFile file;
  file.name = "net";
  file.plan = plan_source(test::residual_network(), {}, true);
  for (const auto& write : {c_source, cpp_source, fortran_source}) {
    file.derivative = SourceDerivative::none;
    EXPECT_THAT(write(file), Not(HasSubstr("slope")));
    file.derivative = SourceDerivative::vjp;
    EXPECT_THAT(write(file), HasSubstr("pullback"));
    // Three outputs of two inputs: a column for each input.
    file.derivative = SourceDerivative::jacobian;
    EXPECT_THAT(write(file), HasSubstr("tangent"));
    EXPECT_THAT(write(file), Not(HasSubstr("pullback")));
  }
}

TEST(SourceText, LinesOfFortranHaveTheLengthOfTheStandard) {
  SourceFile file;
  file.name = std::string(40, 'n');
  file.derivative = SourceDerivative::jacobian;
  file.description = {std::string(300, 'd')};
  SourceNetwork network = test::residual_network();
  network.operations[0].layer = std::string(200, 'l');
  network.operations[2].layer = std::string(200, 'k');
  file.plan = plan_source(network, {}, true);
  const std::string text = fortran_source(file);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    EXPECT_LE(end - at, 132U) << text.substr(at, end - at);
    at = end + 1;
  }
}

}  // namespace mylos::source_text_test
