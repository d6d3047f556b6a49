#include "mylos/data/prepare/prepare_text.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/token_builders.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/samples.hpp"
#include "support/said.hpp"

namespace mylos::prepare_text_test {

using namespace testing_support;

const std::string shakespeare = MYLOS_SOURCE_DIR "/inputs/data/tinyshakespeare.txt";

std::string refusal(const std::string& bytes, TokenKind level = TokenKind::characters) {
  const TemporaryFolder folder;
  write_file(folder / "a.txt", bytes);
  const std::string message = test::refusal_of([&] {
    prepare(PrepareText{folder / "a.txt", level, folder / "a.h5"});
  });
  EXPECT_FALSE(std::filesystem::exists(folder / "a.h5") || std::filesystem::exists(folder / "a.h5.tmp"));
  const std::string prefix = folder.path() + "/";
  return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
}

TEST(PrepareText, AByteOrderMarkIsNoCharacter) {
  const TemporaryFolder folder;
  const std::string mark = "\xef\xbb\xbf";
  write_file(folder / "a.txt", mark + "abba");
  prepare(PrepareText{folder / "a.txt", TokenKind::characters, folder / "a.h5"});
  const TokenDataset data(folder / "a.h5");
  EXPECT_EQ(data.vocabulary().text(), "ab");
  EXPECT_EQ(data.tokens(), 4);
  write_file(folder / "b.txt", mark + "bax");
  EXPECT_TRUE(
      test::refusal_of([&] {
        prepare(PrepareText{folder / "b.txt", TokenKind::characters, folder / "b.h5", folder / "a.h5"});
      }).starts_with((folder / "b.txt") + ":1: character 'x' (U+0078) at byte offset 5 "));
  write_file(folder / "c.txt", "b" + mark + "a");
  prepare(PrepareText{folder / "c.txt", TokenKind::characters, folder / "c.h5"});
  EXPECT_EQ(TokenDataset(folder / "c.h5").tokens(), 3) << "within a text it is a character";
  prepare(PrepareText{folder / "a.txt", TokenKind::bytes, folder / "d.h5"});
  EXPECT_EQ(TokenDataset(folder / "d.h5").tokens(), 7);
}

TEST(PrepareText, TinyShakespeareHas65CharactersAndIsWhatPythonReads) {
  const TemporaryFolder folder;
  const std::string out = folder / "shakespeare.h5";
  prepare(PrepareText{shakespeare, TokenKind::characters, out});
  const TokenDataset data(out);
  EXPECT_EQ(data.tokens(), 1115394);
  EXPECT_EQ(data.type(), DType::uint8);
  EXPECT_EQ(data.vocabulary().kind(), TokenKind::characters);
  EXPECT_EQ(data.vocabulary().size(), 65);
  EXPECT_EQ(data.vocabulary().text(), "\n !$&',-.3:;?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
  EXPECT_EQ(
      python("import h5py, numpy as n\ntext = open('" + shakespeare +
             "', encoding='utf-8', newline='').read()\nchars = sorted(set(text))\nf = h5py.File('" + out +
             "')\nprint(f['tokens'].dtype, f.attrs['vocabulary'], f.attrs['kind'].decode())\n"
             "print(f['vocabulary'][()].decode() == ''.join(chars))\n"
             "print(''.join(chars[i] for i in f['tokens'][:]) == text, f.attrs['source'].decode())"),
      "uint8 65 characters\nTrue\nTrue tinyshakespeare.txt\n");
}

TEST(PrepareText, BytesAreTakenFromAnyFile) {
  const TemporaryFolder folder;
  std::string bytes;
  for (int i = 0; i < 3'000'000; ++i) bytes += static_cast<char>(i * 7 % 256);
  write_file(folder / "a.bin", bytes);
  prepare(PrepareText{folder / "a.bin", TokenKind::bytes, folder / "a.h5"});
  const TokenDataset data(folder / "a.h5");
  EXPECT_TRUE(data.vocabulary() == Vocabulary::bytes());
  std::string stored(bytes.size(), '\0');
  data.read(0, data.tokens(), stored.data());
  EXPECT_TRUE(stored == bytes);
}

TEST(PrepareText, ManyAlphabetsOverManyPiecesAreWhatPythonDecodes) {
  const TemporaryFolder folder;
  const std::string in = folder / "a.txt";
  const std::string out = folder / "a.h5";
  python(
      "import random\nr = random.Random(1)\n"
      "codes = [c for c in range(1, 0x110000, 37) if not 0xd800 <= c < 0xe000]\n"
      "open('" +
      in + "', 'wb').write(''.join(chr(r.choice(codes)) for _ in range(700000)).encode())");
  prepare(PrepareText{in, TokenKind::characters, out});
  EXPECT_EQ(TokenDataset(out).type(), DType::uint16);
  EXPECT_EQ(
      python("import h5py, numpy as n\ntext = open('" + in +
             "', 'rb').read().decode()\nchars = sorted(set(text))\nf = h5py.File('" + out +
             "')\nrank = {c: i for i, c in enumerate(chars)}\n"
             "print(f['vocabulary'][()].decode() == ''.join(chars), f.attrs['vocabulary'] == len(chars))\n"
             "print(n.array_equal(f['tokens'][:], [rank[c] for c in text]))"),
      "True True\nTrue\n");
}

TEST(PrepareText, ATestTextTakesTheCharactersOfTheTrainingText) {
  const TemporaryFolder folder;
  write_file(folder / "train.txt", "hélloé\n");
  prepare(PrepareText{folder / "train.txt", TokenKind::characters, folder / "train.h5"});
  write_file(folder / "test.txt", "olé\n\nol");
  PrepareText job{folder / "test.txt", TokenKind::characters, folder / "test.h5", folder / "train.h5"};
  prepare(job);
  const TokenDataset test(folder / "test.h5");
  EXPECT_TRUE(test.vocabulary() == TokenDataset(folder / "train.h5").vocabulary());
  std::vector<std::uint8_t> tokens(8);
  ASSERT_EQ(test.tokens(), 7);
  test.read(0, 7, tokens.data());
  EXPECT_EQ(tokens, (std::vector<std::uint8_t>{3, 2, 4, 0, 0, 3, 2, 0}));  // of \n h l o é

  write_file(folder / "test.txt", "olé\n\nhóla");
  job.out = folder / "other.h5";
  EXPECT_TRUE(
      test::says(test::refusal_of([&] { prepare(job); }), errors::unknown_token,
                 {folder / "test.txt", "3", "'ó'", "00F3", "offset 7", "the 5", folder / "train.h5"}));
  EXPECT_FALSE(std::filesystem::exists(job.out) || std::filesystem::exists(job.out + ".tmp"));
}

TEST(PrepareText, AVocabularyThatIsNoneOfCharactersIsRefused) {
  const TemporaryFolder folder;
  write_file(folder / "a.txt", "abc");
  prepare(PrepareText{folder / "a.txt", TokenKind::bytes, folder / "bytes.h5"});
  const auto message = [&](TokenKind level) {
    return test::refusal_of([&] {
      prepare(PrepareText{folder / "a.txt", level, folder / "a.h5", folder / "bytes.h5"});
    });
  };
  EXPECT_TRUE(test::says(message(TokenKind::characters), errors::wrong_format,
                         {"--vocabulary", folder / "bytes.h5", "its 256"}));
  EXPECT_TRUE(test::says(message(TokenKind::bytes), errors::arguments_conflict,
                         {"--vocabulary", folder / "bytes.h5", "--level"}));
}

TEST(PrepareText, BadUtf8IsNamedByTheOffsetWherePythonFindsIt) {
  const TemporaryFolder folder;
  python(
      "import random\nr = random.Random(2)\nlines = []\nwhile len(lines) < 300:\n"
      " b = bytearray(''.join(chr(r.choice([65, 0x3b1, 0x20ac, 0x1f600, 0xd7ff, 0x10ffff]))"
      " for _ in range(12)).encode())\n"
      " for _ in range(r.randint(1, 2)): b[r.randrange(len(b))] = r.randrange(1, 256)\n"
      " if r.random() < 0.3: del b[-1:]\n"
      " if 10 in b: continue\n"
      " try: b.decode(); where = -1\n"
      " except UnicodeDecodeError as e: where = e.start\n"
      " lines.append(b.hex() + ' %d' % where)\n"
      "open('" +
      (folder / "cases") + "', 'w').write('\\n'.join(lines))");
  std::ifstream cases(folder / "cases");
  int refused = 0;
  std::string hex;
  for (int where = 0; cases >> hex >> where;) {
    std::string bytes;
    for (std::size_t i = 0; i < hex.size(); i += 2) {
      bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    }
    if (where < 0) {
      write_file(folder / "a.txt", bytes);
      EXPECT_NO_THROW(prepare(PrepareText{folder / "a.txt", TokenKind::characters, folder / "a.h5"})) << hex;
    } else {
      EXPECT_TRUE(test::says(
          refusal(bytes), errors::bad_encoding,
          {"a.txt",
           fmt::format("byte 0x{:02x}", static_cast<unsigned char>(bytes[static_cast<std::size_t>(where)])),
           fmt::format("byte offset {} ", where)}))
          << hex;
      ++refused;
    }
  }
  EXPECT_GT(refused, 100);
}

TEST(PrepareText, OverlongFormsSurrogatesAndNumbersTooLargeAreNoUtf8) {
  for (const std::string bytes : {"\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf", "\xed\xa0\x80",
                                  "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\x80", "\xe2\x82"}) {
    EXPECT_TRUE(refusal("ab" + bytes).find("starts no character at byte offset 2 ") != std::string::npos);
  }
}

TEST(PrepareText, BadBytesBehindTheFirstPieceHaveTheRightOffset) {
  std::string text = "a";
  while (text.size() < 3'000'000) text += "é";  // odd offsets: pieces end inside characters
  const std::string offset = std::to_string(text.size());
  EXPECT_TRUE(refusal(text + "\xff").find("byte 0xff starts no character at byte offset " + offset + " ") !=
              std::string::npos);
  EXPECT_TRUE(refusal(text + "\xc3").find("byte 0xc3 starts no character at byte offset " + offset + " ") !=
              std::string::npos);
}

TEST(PrepareText, EmptyMissingAndBinaryFilesAreRefused) {
  EXPECT_TRUE(test::says(refusal(""), errors::too_little_data, {"a.txt"}));
  EXPECT_TRUE(test::says(refusal("", TokenKind::bytes), errors::too_little_data, {"a.txt"}));
  EXPECT_TRUE(test::says(refusal(std::string("a\0b\0", 4)), errors::bad_encoding,
                         {"a.txt", "-16", "offset 1", "-8", "--level"}));
  EXPECT_TRUE(test::says(test::refusal_of([] {
                           prepare(PrepareText{"/nowhere/a.txt", TokenKind::characters, "/tmp/no.h5"});
                         }),
                         errors::no_such_file, {"/nowhere/a.txt"}));
  EXPECT_TRUE(test::says(test::refusal_of([] {
                           prepare(PrepareText{"/tmp", TokenKind::bytes, "/tmp/no.h5"});
                         }),
                         errors::not_a_file, {"/tmp"}));
}

}  // namespace mylos::prepare_text_test
