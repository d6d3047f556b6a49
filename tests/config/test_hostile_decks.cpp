// Files that are not decks: each is refused with a message; none takes long or ends the process.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "config/deck_builders.hpp"
#include "mylos/config/deck/manual.hpp"

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
  EXPECT_EQ(message(path), path + ": a deck has at most 1 MiB, this one has 9.537 MiB");
}

TEST_F(DeckFile, ThatIsNoneIsRefused) {
  const std::string missing = (folder_ / "missing.toml").string();
  EXPECT_EQ(message(missing), missing + ": there is no such deck; `mylos manual` explains decks");
  EXPECT_EQ(message(folder_.string()), folder_.string() + ": a deck must be a regular file");
  EXPECT_EQ(message("/dev/zero"), "/dev/zero: a deck must be a regular file");
  const std::string empty = write("");
  EXPECT_EQ(message(empty), empty + ": the deck is empty");
}

TEST(HostileDeck, IsNotNestedDeeply) {
  const std::string refusal = "deck.toml:2: nested deeper than 16 levels; no key of a deck needs that";
  EXPECT_EQ(message_of("\nx = " + repeated("[", 1'000'000)), refusal);
  EXPECT_EQ(message_of("\nx = " + repeated("{a=", 300'000)), refusal);
  EXPECT_EQ(message_of("\n" + repeated("a.", 500'000) + "a = 1"), refusal);
  EXPECT_EQ(message_of("\n[" + repeated("a.", 500'000) + "a]"), refusal);
  EXPECT_EQ(message_of("\n[[" + repeated("a . ", 200'000) + "a]]"), refusal);
  // A quote that only seems to open a string must not hide the text after it.
  EXPECT_EQ(message_of("# \"\nx = " + repeated("[", 100'000)), refusal);
  EXPECT_EQ(message_of("x = \"\\\"\"\ny = " + repeated("[", 100'000)), refusal);
  EXPECT_EQ(message_of("x = '\\'\ny = " + repeated("[", 100'000)), refusal);
  EXPECT_EQ(message_of("x = \"\"\"\"\"\"\"\"\ny = " + repeated("[", 100'000)), refusal);
  EXPECT_EQ(message_of("\nx = [\"\"\"a\"\"\"\", " + repeated("[", 100'000)), refusal);
  EXPECT_EQ(message_of("x = ''\ny = " + repeated("[", 100'000)), refusal);
}

TEST(HostileDeck, MayHoldBracketsAndDotsInTextAndComments) {
  const std::string pile = repeated("[", 50) + repeated(".", 50);
  EXPECT_EQ(read_with("# " + pile + "\ndata.test = \"" + pile + "\"").options.data.test, pile);
  EXPECT_EQ(read_with("data.test = '''" + pile + "''' # " + pile).options.data.test, pile);
}

TEST(HostileDeck, IsUtf8) {
  const auto not_utf8 = [](const std::string& bytes, const std::string& named) {
    EXPECT_EQ(message_of("\nx = \"" + bytes + "\""),
              "deck.toml:2: not a text: byte 0x" + named + " is not UTF-8");
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
  EXPECT_EQ(message,
            "deck.toml:2: unknown key 'run.\\u001B[31m'; the keys of [run] are name, folder, initial, seed, "
            "epochs, steps, "
            "reproducible, threads, evaluate_every, metrics, patience, log_every, walltime, peak_flops");
}

TEST(HostileDeck, WithAVeryLongKeyIsAnsweredInOneLine) {
  EXPECT_EQ(
      message_of("[run]\n" + std::string(1'000'000, 'a') + " = 1\n"),
      "deck.toml:2: unknown key 'run." + std::string(56, 'a') +
          "...'; the keys of [run] are name, folder, initial, seed, epochs, steps, reproducible, threads, "
          "evaluate_every, metrics, patience, "
          "log_every, walltime, peak_flops");
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
