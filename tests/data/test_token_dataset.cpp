#include "mylos/data/tokens/token_dataset.hpp"

#include <gtest/gtest.h>

#include "data/builders.hpp"
#include "data/token_builders.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/data/tokens/token_writer.hpp"
#include "support/said.hpp"

namespace mylos::token_dataset_test {

using namespace testing_support;

/// Returns the message about a file that h5py makes, without the file's name.
std::string refusal(const std::string& script) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  python("import h5py, numpy as n\nf = h5py.File('" + path + "', 'w')\n" + script);
  const std::string message = test::refusal_of([&] { const TokenDataset data(path); });
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
  EXPECT_TRUE(test::says(refusal("f['inputs'] = n.zeros(9)"), errors::missing_dataset,
                         {"/tokens", "`mylos prepare text`", "`mylos prepare tokens`"}));
  EXPECT_TRUE(test::says(refusal("f.attrs['format'] = n.bytes_('mylos-dataset')"), errors::wrong_format,
                         {"is a mylos-dataset file, expected mylos-tokens"}));
  EXPECT_TRUE(
      test::says(refusal(tokens + "f.attrs['format'] = n.bytes_('mylos-tokens')\nf.attrs['version'] = 2"),
                 errors::unknown_version, {"version 2", "most 1"}));
  EXPECT_TRUE(test::says(refusal(tokens), errors::missing_dataset, {"'vocabulary'"}));
  EXPECT_TRUE(test::says(refusal(tokens + "f.attrs['vocabulary'] = 0"), errors::bad_dataset,
                         {"'vocabulary'", "is 0", "expected 1", "to 2147483647"}));
  EXPECT_TRUE(test::says(refusal(tokens + "f.attrs['vocabulary'] = 3\nf['vocabulary'] = n.bytes_('ab')"),
                         errors::bad_dataset, {"'vocabulary'", "is 3", "has 2"}));
  EXPECT_TRUE(test::says(refusal(tokens + "f.attrs['vocabulary'] = 3\nf.attrs['kind'] = 'words'"),
                         errors::bad_dataset, {"'kind'", "'words'"}));
  EXPECT_TRUE(test::says(refusal("f['tokens'] = n.zeros((3, 3), 'u2')\nf.attrs['vocabulary'] = 3"),
                         {"/tokens", "has 2", "expected 1", "[tokens]"}));
  EXPECT_TRUE(test::says(refusal("f['tokens'] = n.zeros(3, 'i4')\nf.attrs['vocabulary'] = 3"),
                         {"/tokens", "32", "8", "16"}));
  EXPECT_TRUE(test::says(refusal("f['tokens'] = n.zeros(0, 'u2')\nf.attrs['vocabulary'] = 3"),
                         errors::bad_dataset, {"/tokens"}));
}

TEST(TokenDataset, ALongAttributeIsCutInMessages) {
  const std::string cut = std::string(60, 'z') + "...";
  EXPECT_TRUE(test::says(refusal("f.attrs['format'] = n.bytes_('z' * 50000)"), errors::wrong_format, {cut}));
  EXPECT_TRUE(test::says(
      refusal("f['tokens'] = n.zeros(9, 'u2')\nf.attrs['vocabulary'] = 3\nf.attrs['kind'] = 'z' * 50000"),
      errors::bad_dataset, {"'kind'", cut}));
}

TEST(TokenDataset, AForeignFileIsCheckedAsAWholeBeforeItIsUsed) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  python("import h5py, numpy as n\nf = h5py.File('" + path +
         "', 'w')\nf['tokens'] = n.array([5, 0, 9, 10], 'u2')\nf.attrs['vocabulary'] = 9\n");
  const TokenDataset data(path);
  const auto names_it = [&](const std::string& said) {
    return test::says(said, errors::unknown_token, {path, "/tokens element 2", "is 9", "0 to 8"});
  };
  EXPECT_TRUE(names_it(test::refusal_of([&] { data.require_valid_values(); })));
  EXPECT_TRUE(names_it(test::refusal_of([&] { (void)data.identity(); })));
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
    return test::refusal_of([&] { require_same_vocabulary(train, other); });
  };
  EXPECT_NO_THROW(require_same_vocabulary(train, make("a.h5", Vocabulary::characters("abc"))));
  EXPECT_TRUE(test::says(mismatch(make("b.h5", Vocabulary::bytes())), errors::data_mismatch,
                         {(folder / "b.h5"), "of 256", train.path(), "of 3"}));
  EXPECT_TRUE(test::says(mismatch(make("c.h5", Vocabulary::characters("abd"))), errors::data_mismatch,
                         {(folder / "c.h5"), "of 3", train.path()}));
}

TEST(TokenDataset, SplitsHoldAWindowEach) {
  const TemporaryFolder folder;
  const TokenDataset data(write_counting_tokens(folder / "a.h5", 100));
  const Splits splits = split_tokens(data, 0.1, 9);
  EXPECT_EQ(splits.train.count, 90);
  EXPECT_EQ(splits.validation.first, 90);
  EXPECT_EQ(splits.validation.count, 10);
  EXPECT_TRUE(test::says(test::refusal_of([&] { (void)split_tokens(data, 0.1, 10); }),
                         errors::too_little_data, {data.path(), "has 10", "model.context", "10", "most 9"}));
  EXPECT_TRUE(test::says(test::refusal_of([&] { (void)split_tokens(data, 0, 100); }), errors::too_little_data,
                         {data.path(), "has 100", "model.context", "100", "most 99"}));
  EXPECT_EQ(windows_in(100, 99), 1);
  EXPECT_EQ(windows_in(100, 33), 3);
  EXPECT_EQ(windows_in(100, 100), 0);
}

}  // namespace mylos::token_dataset_test
