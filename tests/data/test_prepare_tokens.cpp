#include "mylos/data/prepare/prepare_tokens.hpp"

#include <gtest/gtest.h>

#include "data/token_builders.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/samples.hpp"
#include "support/said.hpp"

namespace mylos::prepare_tokens_test {

using namespace testing_support;

/// NumPy writes FOLDER/a.bin: the script has `out`, a function header(magic, version, count) and n = numpy.
void write_stream(const TemporaryFolder& folder, const std::string& script) {
  python("import numpy as n\nout = open('" + (folder / "a.bin") +
         "', 'wb')\ndef header(*fields):\n h = n.zeros(256, '<i4')\n h[:len(fields)] = fields\n"
         " return h.tobytes()\n" +
         script);
}

TokenDataset prepared(const TemporaryFolder& folder, const std::string& script,
                      std::optional<DType> type = std::nullopt, std::int64_t vocabulary = 0) {
  write_stream(folder, script);
  prepare(PrepareTokens{{folder / "a.bin"}, type, vocabulary, folder / "a.h5"});
  return TokenDataset(folder / "a.h5");
}

std::string refusal(const std::string& script, std::optional<DType> type = std::nullopt,
                    std::int64_t vocabulary = 0) {
  const TemporaryFolder folder;
  const std::string message = test::refusal_of([&] { (void)prepared(folder, script, type, vocabulary); });
  EXPECT_FALSE(std::filesystem::exists(folder / "a.h5") || std::filesystem::exists(folder / "a.h5.tmp"));
  const std::string prefix = folder.path() + "/";
  return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
}

const std::string many = "t = n.random.default_rng(1).integers(0, 50257, 700001)\n";

TEST(PrepareTokens, StreamsOfBothTypesAreWhatNumpyWrote) {
  for (const std::string type : {"uint16", "uint32"}) {
    for (const bool has_header : {false, true}) {
      const TemporaryFolder folder;
      const std::string header = !has_header        ? ""
                                 : type == "uint16" ? "out.write(header(20240520, 1, len(t)))\n"
                                                    : "out.write(header(20240801, 7, len(t)))\n";
      const auto wanted = type == "uint16" || has_header ? std::nullopt : std::optional(DType::uint32);
      const auto data = prepared(
          folder, many + header + "out.write(t.astype('<' + n.dtype('" + type + "').str[1:]))", wanted);
      EXPECT_EQ(name_of(data.type()), type);
      EXPECT_EQ(data.tokens(), 700001);
      EXPECT_EQ(data.vocabulary().kind(), TokenKind::tokens);
      EXPECT_EQ(python("import h5py, numpy as n\n" + many + "f = h5py.File('" + data.path() +
                       "')\nprint(n.array_equal(f['tokens'][:], t), f.attrs['vocabulary'] == t.max() + 1, "
                       "f['tokens'].dtype)"),
                "True True " + type + "\n");
    }
  }
}

TEST(PrepareTokens, SeveralFilesAreOneBehindTheOther) {
  const TemporaryFolder folder;
  write_stream(folder, "out.write(n.arange(5, dtype='<u2'))");
  std::filesystem::rename(folder / "a.bin", folder / "b.bin");
  write_stream(folder, "out.write(header(20240520, 1, 3) + n.arange(7, 10, dtype='<u2').tobytes())");
  prepare(PrepareTokens{{folder / "b.bin", folder / "a.bin"}, std::nullopt, 20, folder / "a.h5"});
  const TokenDataset data(folder / "a.h5");
  std::vector<std::uint16_t> tokens(8);
  data.read(0, 8, tokens.data());
  EXPECT_EQ(tokens, (std::vector<std::uint16_t>{0, 1, 2, 3, 4, 7, 8, 9}));
  EXPECT_EQ(data.vocabulary().size(), 20);
}

TEST(PrepareTokens, ATokenOutsideTheVocabularyIsNamedWithItsPosition) {
  EXPECT_TRUE(test::says(refusal("out.write(n.array([1, 2, 50257], '<u2'))", std::nullopt, 50257),
                         errors::unknown_token,
                         {"a.bin", "token 2", "from 0", "byte 4", "is 50257", "expected 0", "to 50256"}));
  EXPECT_TRUE(
      test::says(refusal("t = n.zeros(400000, '<u4')\nt[399998] = 7\nout.write(header(20240801, 7, 400000))\n"
                         "out.write(t)",
                         std::nullopt, 7),
                 errors::unknown_token,
                 {"a.bin", "token 399998", "from 0", "byte 1601016", "is 7", "expected 0", "to 6"}));
  EXPECT_TRUE(
      test::says(refusal("out.write(n.array([1, 2**31], '<u4'))", DType::uint32), errors::unknown_token,
                 {"a.bin", "token 1", "from 0", "byte 4", "is 2147483648", "expected 0", "to 2147483646"}));
}

TEST(PrepareTokens, WrongHeadersAreRefused) {
  EXPECT_TRUE(test::says(refusal("out.write(header(20240520, 2, 3) + bytes(6))"), errors::unknown_version,
                         {"a.bin", "magic 20240520", "version 2", "expected 1"}));
  EXPECT_TRUE(test::says(refusal("out.write(header(20240520, 1, 4) + bytes(6))"), errors::truncated,
                         {"a.bin", "states 4", "16", "expected 1032", "has 1030"}));
  EXPECT_TRUE(test::says(refusal("out.write(header(20240520, 1, -1) + bytes(6))"), errors::damaged,
                         {"a.bin", "states -1", "16", "expected 1024", "has 1030"}));
  EXPECT_TRUE(test::says(refusal("out.write(header(20240801, 7, 2147483647) + bytes(8))"), errors::truncated,
                         {"a.bin", "states 2147483647", "32", "expected 8589935612", "has 1032"}));
  EXPECT_TRUE(test::says(refusal("out.write(header(20240520, 1, 3) + bytes(6))", DType::uint32),
                         errors::wrong_format, {"a.bin", "magic 20240520", "16", "--type", "32"}));
  EXPECT_TRUE(test::says(refusal("out.write(header(20240522, 1, 3) + bytes(6))"), errors::wrong_format,
                         {"a.bin", "llm.c", "magic 20240522", "magic 20240520"}));
}

TEST(PrepareTokens, AFileThatEndsWithinItsHeaderIsNoStreamOfTokens) {
  for (const int bytes : {4, 600, 1022}) {
    EXPECT_TRUE(test::says(refusal("out.write(header(20240520, 1, 3)[:" + std::to_string(bytes) + "])"),
                           errors::truncated,
                           {"a.bin", "llm.c", "magic 20240520", "of 1024", std::to_string(bytes)}));
  }
  EXPECT_TRUE(test::says(refusal("out.write(header(20240801, 7, 3)[:500])", DType::uint32), errors::truncated,
                         {"a.bin", "llm.c", "magic 20240801", "of 1024", "has 500"}));
  EXPECT_TRUE(test::says(refusal("out.write(header(20240522, 1, 3)[:8])"), errors::wrong_format,
                         {"a.bin", "llm.c", "magic 20240522", "magic 20240520"}));
  const TemporaryFolder folder;
  EXPECT_EQ(prepared(folder, "out.write(header(20240520, 1, 3)[:2])").tokens(), 1);  // no magic yet
}

TEST(PrepareTokens, EmptyAndCutStreamsAreRefused) {
  EXPECT_TRUE(test::says(refusal(""), errors::too_little_data, {"a.bin"}));
  EXPECT_TRUE(test::says(refusal("out.write(bytes(7))"), errors::truncated, {"a.bin", "has 7", "16"}));
  EXPECT_TRUE(
      test::says(refusal("out.write(bytes(6))", DType::uint32), errors::truncated, {"a.bin", "has 6", "32"}));
}

}  // namespace mylos::prepare_tokens_test
