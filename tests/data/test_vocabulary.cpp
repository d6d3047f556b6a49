#include "mylos/data/files/vocabulary.hpp"

#include <gtest/gtest.h>

#include "io/support.hpp"

namespace mylos::vocabulary_test {

using namespace testing_support;

TEST(Vocabulary, CharactersAreNumberedByTheirRank) {
  const auto vocabulary = Vocabulary::characters("\n abé€😀");
  EXPECT_EQ(vocabulary.size(), 7);
  const std::vector<std::int32_t> tokens{6, 5, 4, 3, 2, 1, 0};
  EXPECT_EQ(vocabulary.encode("😀€éba \n", "a test"), tokens);
  EXPECT_EQ(vocabulary.decode(tokens), "😀€éba \n");
  EXPECT_EQ(vocabulary.text(), "\n abé€😀");
  EXPECT_TRUE(Vocabulary::characters(vocabulary.text()) == vocabulary);
}

TEST(Vocabulary, BytesAreTheirOwnNumbers) {
  const auto vocabulary = Vocabulary::bytes();
  EXPECT_EQ(vocabulary.encode("a\xff", "a test"), (std::vector<std::int32_t>{97, 255}));
  EXPECT_EQ(vocabulary.decode(std::vector<std::int32_t>{0xc3, 0xa9}), "é");
}

TEST(Vocabulary, ACharacterOutsideIsNamedWithItsPosition) {
  const auto vocabulary = Vocabulary::characters("\nabé");
  const auto refusal = [&](const std::string& text) {
    return error_of([&] { (void)vocabulary.encode(text, "--prompt"); });
  };
  EXPECT_EQ(refusal("éaß"),
            "--prompt: character 'ß' (U+00DF) at position 2 (counted from 0) is not one of the 4 of the "
            "vocabulary: abé");
  EXPECT_EQ(
      refusal("a\t"),
      "--prompt: character U+0009 at position 1 (counted from 0) is not one of the 4 of the vocabulary: "
      "abé");
  EXPECT_EQ(refusal("éa\xff"), "--prompt: is not UTF-8 at byte 3 (counted from 0)");
  EXPECT_EQ(error_of([&] {
              (void)vocabulary.decode(std::vector<std::int32_t>{0, 4});
            }),
            "token 1 (counted from 0) is 4, expected 0 to 3");
  EXPECT_EQ(error_of([&] { (void)vocabulary.decode(std::vector<std::int32_t>{-1}); }),
            "token 0 (counted from 0) is -1, expected 0 to 3");
}

TEST(Vocabulary, NumberedTokensHaveNoText) {
  const auto vocabulary = Vocabulary::tokens(50257);
  EXPECT_EQ(error_of([&] { (void)vocabulary.encode("a", "--prompt"); }),
            "--prompt: the vocabulary has 50257 numbered tokens without text; give token numbers");
  EXPECT_EQ(error_of([&] { (void)vocabulary.decode(std::vector<std::int32_t>{0}); }),
            "the vocabulary has 50257 numbered tokens without text");
}

TEST(Vocabulary, CharactersOutOfOrderAreRefused) {
  EXPECT_EQ(error_of([] { (void)Vocabulary::characters("ba"); }),
            "the vocabulary's characters are not in rising order at byte 1");
  EXPECT_EQ(error_of([] { (void)Vocabulary::characters("éé"); }),
            "the vocabulary's characters are not in rising order at byte 2");
  EXPECT_EQ(error_of([] { (void)Vocabulary::characters("a\xe2\x82"); }),
            "the vocabulary's characters are not UTF-8 at byte 1");
}

}  // namespace mylos::vocabulary_test
