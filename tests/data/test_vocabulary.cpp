#include "mylos/data/files/meaning/vocabulary.hpp"

#include <gtest/gtest.h>

#include "io/support.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/internal.hpp"
#include "support/said.hpp"

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
    return test::refusal_of([&] { (void)vocabulary.encode(text, "--prompt"); });
  };
  EXPECT_TRUE(
      test::says(refusal("éaß"), errors::unknown_token, {"--prompt", "'ß'", "00DF", "position 2", "the 4"}));
  EXPECT_TRUE(test::says(refusal("a\t"), errors::unknown_token, {"--prompt", "0009", "position 1", "the 4"}));
  EXPECT_TRUE(test::says(refusal("éa\xff"), errors::bad_encoding, {"--prompt", "-8", "byte 3"}));
  EXPECT_TRUE(test::says(test::refusal_of([&] {
                           (void)vocabulary.decode(std::vector<std::int32_t>{0, 4});
                         }),
                         errors::unknown_token, {"token 1", "is 4", "expected 0", "to 3"}));
  EXPECT_TRUE(test::says(test::refusal_of([&] { (void)vocabulary.decode(std::vector<std::int32_t>{-1}); }),
                         errors::unknown_token, {"token 0", "is -1", "expected 0", "to 3"}));
}

TEST(Vocabulary, NumberedTokensHaveNoText) {
  const auto vocabulary = Vocabulary::tokens(50257);
  EXPECT_TRUE(test::says(test::refusal_of([&] { (void)vocabulary.encode("a", "--prompt"); }),
                         errors::bad_argument, {"--prompt", "has 50257"}));
  EXPECT_TRUE(test::says(test::refusal_of([&] { (void)vocabulary.decode(std::vector<std::int32_t>{0}); }),
                         errors::internal, {"has 50257"}));
}

TEST(Vocabulary, CharactersOutOfOrderAreRefused) {
  EXPECT_TRUE(test::says(test::refusal_of([] { (void)Vocabulary::characters("ba"); }), errors::bad_dataset,
                         {"byte 1"}));
  EXPECT_TRUE(test::says(test::refusal_of([] { (void)Vocabulary::characters("éé"); }), errors::bad_dataset,
                         {"byte 2"}));
  EXPECT_TRUE(test::says(test::refusal_of([] { (void)Vocabulary::characters("a\xe2\x82"); }),
                         errors::bad_dataset, {"-8", "byte 1"}));
}

}  // namespace mylos::vocabulary_test
