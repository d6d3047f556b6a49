// Files that are not decks: each is refused with a message; none takes long or ends the process.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "config/deck_builders.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/config/deck/manual.hpp"
#include "support/said.hpp"

namespace mylos::testing::hostile_decks_test {

std::string repeated(const std::string& piece, std::size_t times) {
  std::string result;
  for (std::size_t i = 0; i < times; ++i) result += piece;
  return result;
}

class DeckFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("mylos-deck-" + std::to_string(std::random_device{}()));
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& text) {
    const auto path = folder_ / "deck.toml";
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }
  std::string message(const std::string& path) {
    try {
      (void)read_deck(path);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  std::filesystem::path folder_;
};

TEST_F(DeckFile, IsReadFromDisk) {
  EXPECT_EQ(read_deck(write(std::string(smallest))), read_with("").options);
}

TEST_F(DeckFile, OfTenMegabytesOfBracketsIsRefused) {
  const std::string path = write(repeated("[", 10'000'000));
  EXPECT_TRUE(test::says(message(path), errors::deck_size, {path, "most 1 MiB", "has 9.537 MiB"}));
}

TEST_F(DeckFile, ThatIsNoneIsRefused) {
  const std::string missing = (folder_ / "missing.toml").string();
  EXPECT_TRUE(test::says(message(missing), errors::no_such_file, {missing, "`mylos manual`"}));
  EXPECT_TRUE(test::says(message(folder_.string()), errors::not_a_file, {folder_.string()}));
  EXPECT_TRUE(test::says(message("/dev/zero"), errors::not_a_file, {"/dev/zero"}));
  const std::string empty = write("");
  EXPECT_TRUE(test::says(message(empty), errors::deck_size, {empty}));
}

TEST(HostileDeck, IsNotNestedDeeply) {
  const auto refused = [](const std::string& text) {
    return test::says(message_of(text), errors::deck_size, {"deck.toml:2:", "16"});
  };
  EXPECT_TRUE(refused("\nx = " + repeated("[", 1'000'000)));
  EXPECT_TRUE(refused("\nx = " + repeated("{a=", 300'000)));
  EXPECT_TRUE(refused("\n" + repeated("a.", 500'000) + "a = 1"));
  EXPECT_TRUE(refused("\n[" + repeated("a.", 500'000) + "a]"));
  EXPECT_TRUE(refused("\n[[" + repeated("a . ", 200'000) + "a]]"));
  // A quote that only seems to open a string must not hide the text after it.
  EXPECT_TRUE(refused("# \"\nx = " + repeated("[", 100'000)));
  EXPECT_TRUE(refused("x = \"\\\"\"\ny = " + repeated("[", 100'000)));
  EXPECT_TRUE(refused("x = '\\'\ny = " + repeated("[", 100'000)));
  EXPECT_TRUE(refused("x = \"\"\"\"\"\"\"\"\ny = " + repeated("[", 100'000)));
  EXPECT_TRUE(refused("\nx = [\"\"\"a\"\"\"\", " + repeated("[", 100'000)));
  EXPECT_TRUE(refused("x = ''\ny = " + repeated("[", 100'000)));
}

TEST(HostileDeck, MayHoldBracketsAndDotsInTextAndComments) {
  const std::string pile = repeated("[", 50) + repeated(".", 50);
  EXPECT_EQ(read_with("# " + pile + "\ndata.test = \"" + pile + "\"").options.data.test, pile);
  EXPECT_EQ(read_with("data.test = '''" + pile + "''' # " + pile).options.data.test, pile);
}

TEST(HostileDeck, IsUtf8) {
  const auto not_utf8 = [](const std::string& bytes, const std::string& named) {
    EXPECT_TRUE(test::says(message_of("\nx = \"" + bytes + "\""), errors::deck_syntax,
                           {"deck.toml:2:", "byte 0x", named, "-8"}));
  };
  not_utf8("\xFF", "FF");
  not_utf8("\x80", "80");
  not_utf8("\xC0\xAF", "C0");          // two bytes for what needs one
  not_utf8("\xE0\x80\xAF", "E0");      // three
  not_utf8("\xED\xA0\x80", "ED");      // a surrogate
  not_utf8("\xF4\x90\x80\x80", "F4");  // above U+10FFFF
  not_utf8("\xE6\xBC", "E6");          // truncated
  EXPECT_EQ(read_with("run.name = \"\xE6\xBC\xA2\"").options.run.name, "\xE6\xBC\xA2");
}

TEST(HostileDeck, CannotSteerTheTerminal) {
  const std::string message = message_of("[run]\n\"\\u001b[31m\" = 2\n");
  EXPECT_TRUE(test::says(message, errors::unknown_key, {"deck.toml:2:", "'run.\\u001B[31m'", "[run]"}));
  EXPECT_EQ(message.find('\x1b'), std::string::npos);
}

TEST(HostileDeck, WithAVeryLongKeyIsAnsweredInOneLine) {
  EXPECT_TRUE(test::says(
      message_of("[run]\n" + std::string(1'000'000, 'a') + " = 1\n"), errors::unknown_key,
      {"deck.toml:2:", "run", std::string(56, 'a'), "[run]", "evaluate_every", "log_every", "peak_flops"}));
}

TEST(HostileDeck, CutOffOrDamagedIsReadOrRefused) {
  const std::string good = example_deck();
  for (std::size_t length = 0; length < good.size(); ++length) (void)message_of(good.substr(0, length));
  std::mt19937 engine(1);
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = good;
    for (int flips = 1 + static_cast<int>(engine() % 4); flips > 0; --flips) {
      damaged[engine() % damaged.size()] = static_cast<char>(engine() % 256);
    }
    const std::string message = message_of(damaged);  // any other exception would end the test
    EXPECT_TRUE(message.empty() || message.starts_with("deck.toml")) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

}  // namespace mylos::testing::hostile_decks_test
