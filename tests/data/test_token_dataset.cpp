#include "mylos/data/tokens/token_dataset.hpp"

#include <gtest/gtest.h>

#include "data/builders.hpp"
#include "data/token_builders.hpp"
#include "mylos/data/tokens/token_writer.hpp"

namespace mylos::token_dataset_test {

using namespace testing_support;

/// Returns the message about a file that h5py makes, without the file's name.
std::string refusal(const std::string& script) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  python("import h5py, numpy as n\nf = h5py.File('" + path + "', 'w')\n" + script);
  const std::string message = error_of([&] { const TokenDataset data(path); });
  return message.starts_with(path + ": ") ? message.substr(path.size() + 2) : message;
}

TEST(TokenDataset, AFileOfH5pyIsRead) {
  const TemporaryFolder folder;
  python("import h5py, numpy as n\nf = h5py.File('" + (folder / "a.h5") +
         "', 'w')\nf['tokens'] = n.array([5, 0, 3], 'u4')\nf.attrs['vocabulary'] = 9\n");
  const TokenDataset data(folder / "a.h5");
  EXPECT_EQ(data.tokens(), 3);
  EXPECT_EQ(data.type(), DType::uint32);
  EXPECT_EQ(data.vocabulary().size(), 9);
  EXPECT_EQ(data.vocabulary().kind(), TokenKind::tokens);
  std::vector<std::uint32_t> tokens(2);
  data.read(1, 2, tokens.data());
  EXPECT_EQ(tokens, (std::vector<std::uint32_t>{0, 3}));
}

TEST(TokenDataset, WhatIsNoTokenFileIsRefused) {
  const std::string tokens = "f['tokens'] = n.zeros(9, 'u2')\n";
  EXPECT_EQ(refusal("f['inputs'] = n.zeros(9)"),
            "has no dataset /tokens; `mylos prepare text` and `mylos prepare tokens` make token files");
  EXPECT_EQ(refusal("f.attrs['format'] = n.bytes_('mylos-dataset')"),
            "is a mylos-dataset file, expected mylos-tokens");
  EXPECT_EQ(refusal(tokens + "f.attrs['format'] = n.bytes_('mylos-tokens')\nf.attrs['version'] = 2"),
            "mylos-tokens version 2, expected at most 1");
  EXPECT_EQ(refusal(tokens), "/ has no attribute 'vocabulary', expected an integer");
  EXPECT_EQ(refusal(tokens + "f.attrs['vocabulary'] = 0"),
            "attribute 'vocabulary' of / is 0, expected 1 to 2147483647");
  EXPECT_EQ(refusal(tokens + "f.attrs['vocabulary'] = 3\nf['vocabulary'] = n.bytes_('ab')"),
            "attribute 'vocabulary' of / is 3, but its vocabulary has 2 characters");
  EXPECT_EQ(refusal(tokens + "f.attrs['vocabulary'] = 3\nf.attrs['kind'] = 'words'"),
            "attribute 'kind' of / is 'words', expected bytes, characters or tokens");
  EXPECT_EQ(refusal("f['tokens'] = n.zeros((3, 3), 'u2')\nf.attrs['vocabulary'] = 3"),
            "dataset /tokens has 2 dimensions, expected 1 [tokens]");
  EXPECT_EQ(refusal("f['tokens'] = n.zeros(3, 'i4')\nf.attrs['vocabulary'] = 3"),
            "dataset /tokens holds int32, expected uint8 or uint16 or uint32");
  EXPECT_EQ(refusal("f['tokens'] = n.zeros(0, 'u2')\nf.attrs['vocabulary'] = 3"),
            "dataset /tokens is empty, expected at least one token");
}

TEST(TokenDataset, ALongAttributeIsCutInMessages) {
  const std::string cut = std::string(60, 'z') + "...";
  EXPECT_EQ(refusal("f.attrs['format'] = n.bytes_('z' * 50000)"),
            "is a " + cut + " file, expected mylos-tokens");
  EXPECT_EQ(
      refusal("f['tokens'] = n.zeros(9, 'u2')\nf.attrs['vocabulary'] = 3\nf.attrs['kind'] = 'z' * 50000"),
      "attribute 'kind' of / is '" + cut + "', expected bytes, characters or tokens");
}

TEST(TokenDataset, AForeignFileIsCheckedAsAWholeBeforeItIsUsed) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  python("import h5py, numpy as n\nf = h5py.File('" + path +
         "', 'w')\nf['tokens'] = n.array([5, 0, 9, 10], 'u2')\nf.attrs['vocabulary'] = 9\n");
  const TokenDataset data(path);
  const std::string message = path + ": /tokens element 2 (counted from 0) is 9, expected 0 to 8";
  EXPECT_EQ(error_of([&] { data.require_valid_values(); }), message);
  EXPECT_EQ(error_of([&] { (void)data.identity(); }), message);
}

TEST(TokenDataset, AFileThatClaimsMoreThanItHoldsIsRefusedBeforeMemoryIsTaken) {
  EXPECT_TRUE(
      refusal("f.create_dataset('tokens', (1 << 40,), 'u2', chunks=(1 << 20,))\nf.attrs['vocabulary'] = 3")
          .starts_with("dataset /tokens has 0 B stored, its dimensions need 2 TiB"));
}

TEST(TokenDataset, TellsTokensFromSamples) {
  const TemporaryFolder folder;
  EXPECT_TRUE(holds_tokens(write_counting_tokens(folder / "a.h5", 10)));
  EXPECT_FALSE(holds_tokens(write_images(folder / "b.h5", 10, 3, 2)));
}

TEST(TokenDataset, IdentityIsThatOfTheContentsHoweverTheFileWasMade) {
  const TemporaryFolder folder;
  const auto write = [&](std::vector<std::uint32_t> tokens, const Vocabulary& vocabulary) {
    TokenWriter writer(folder / "w.h5", DType::uint8, 6, vocabulary, "a test");
    writer.add(std::span(tokens).first(2));
    writer.add(std::span(tokens).subspan(2));
    writer.finish();
    return TokenDataset(folder / "w.h5").identity();
  };
  const std::string identity = write({1, 2, 0, 2, 1, 1}, Vocabulary::tokens(0));
  EXPECT_EQ(identity.size(), Xxh128::hex_characters);
  const std::vector<std::uint8_t> tokens{1, 2, 0, 2, 1, 1};
  EXPECT_EQ(TokenDataset(write_tokens(folder / "a.h5", tokens, 3)).identity(), identity);
  EXPECT_NE(write({1, 2, 0, 2, 1, 0}, Vocabulary::tokens(0)), identity);
  EXPECT_NE(write({1, 2, 0, 2, 1, 1}, Vocabulary::tokens(4)), identity);
  EXPECT_NE(write({1, 2, 0, 2, 1, 1}, Vocabulary::characters("abc")),
            write({1, 2, 0, 2, 1, 1}, Vocabulary::characters("abd")));
}

TEST(TokenDataset, TestDataMustHaveTheTrainingVocabulary) {
  const TemporaryFolder folder;
  const auto make = [&](const std::string& name, const Vocabulary& vocabulary) {
    const std::vector<std::uint32_t> tokens(4, 1);
    TokenWriter writer(folder / name, DType::uint8, 4, vocabulary, "a test");
    writer.add(tokens);
    writer.finish();
    return TokenDataset(folder / name);
  };
  const auto train = make("train.h5", Vocabulary::characters("abc"));
  const auto mismatch = [&](const TokenDataset& other) {
    return error_of([&] { require_same_vocabulary(train, other); });
  };
  EXPECT_NO_THROW(require_same_vocabulary(train, make("a.h5", Vocabulary::characters("abc"))));
  EXPECT_EQ(mismatch(make("b.h5", Vocabulary::bytes())),
            (folder / "b.h5") + ": has a vocabulary of 256 bytes, " + train.path() + " one of 3 characters");
  EXPECT_EQ(mismatch(make("c.h5", Vocabulary::characters("abd"))),
            (folder / "c.h5") + ": has a vocabulary of 3 characters that are not the same ones, " +
                train.path() + " one of 3 characters");
}

TEST(TokenDataset, SplitsHoldAWindowEach) {
  const TemporaryFolder folder;
  const TokenDataset data(write_counting_tokens(folder / "a.h5", 100));
  const Splits splits = split_tokens(data, 0.1, 9);
  EXPECT_EQ(splits.train.count, 90);
  EXPECT_EQ(splits.validation.first, 90);
  EXPECT_EQ(splits.validation.count, 10);
  EXPECT_EQ(
      error_of([&] { (void)split_tokens(data, 0.1, 10); }),
      data.path() +
          ": has 10 tokens for validation, too few for model.context = 10; expected a context of at most 9 "
          "(a token follows the window's last)");
  EXPECT_EQ(
      error_of([&] { (void)split_tokens(data, 0, 100); }),
      data.path() +
          ": has 100 tokens for training, too few for model.context = 100; expected a context of at most "
          "99 (a token follows the window's last)");
  EXPECT_EQ(windows_in(100, 99), 1);
  EXPECT_EQ(windows_in(100, 33), 3);
  EXPECT_EQ(windows_in(100, 100), 0);
}

}  // namespace mylos::token_dataset_test
