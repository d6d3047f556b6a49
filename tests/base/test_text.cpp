#include "mylos/base/errors/text.hpp"

#include <gtest/gtest.h>

#include "mylos/base/errors/utf8.hpp"

namespace mylos::text_test {

TEST(Printable, LeavesUtf8AsItIsAndEscapesAllElse) {
  EXPECT_EQ(printable("caf\xc3\xa9 \xe2\x82\xac"), "caf\xc3\xa9 \xe2\x82\xac");
  EXPECT_EQ(printable("a\x1b[2J\x7f\n"), "a\\u001B[2J\\u007F\\u000A");
  EXPECT_EQ(printable("\xc2\x9b"), "\\u009B") << "steers terminals, too";
  EXPECT_EQ(printable("caf\xe9"), "caf\\xE9") << "Latin-1";
  EXPECT_EQ(printable("\xc3"), "\\xC3") << "the start of a character";
  EXPECT_EQ(printable("\xe9t\xe9"), "\\xE9t\\xE9");
}

TEST(Printable, CutsBetweenCharacters) {
  EXPECT_EQ(printable("abcdef", 4), "abcd...");
  EXPECT_EQ(printable("abc\xc3\xa9z", 4), "abc...");
}

TEST(Utf8, IsReadStrictly) {
  EXPECT_TRUE(is_utf8("") && is_utf8("T\xc3\xa9") && is_utf8("\xf0\x9f\x8c\x8a"));
  EXPECT_FALSE(is_utf8("\xe9") || is_utf8("a\xc3") || is_utf8("\xed\xa0\x80") || is_utf8("\xc0\xaf"));
}

}  // namespace mylos::text_test
