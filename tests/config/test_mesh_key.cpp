// mesh.space, and its refusal where samples cannot be divided so.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "config/deck_builders.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/deck.hpp"
#include "support/said.hpp"

namespace mylos::testing {
namespace {

const std::string grid =
    "[run]\nsteps = 1\n[model]\ntype = 'unet'\nchannels = [8]\nloss = 'mse'\n[data]\ntrain = 'a.h5'\nshape = "
    "[32, 16, 3]\n";

std::vector<std::int64_t> space_of(const std::string& deck) {
  return read_deck(deck, "deck.toml", {}).options.mesh.space;
}

TEST(Mesh, HasANumberOfBoxesForEachAxis) {
  using Space = std::vector<std::int64_t>;
  EXPECT_EQ(space_of(grid), Space{});
  EXPECT_EQ(space_of(grid + "[mesh]\nspace = [2, 4]\n"), (Space{2, 4}));
  EXPECT_EQ(message_of(grid + "[mesh]\nspace = [1, 1]\n"), "");
  for (const char* const space : {"[0, 2]", "[1, 1, 1, 1]", "2", "[2.5, 1]", "[2, 65537]"}) {
    EXPECT_TRUE(test::says(message_of(grid + "[mesh]\nspace = " + space + "\n"), errors::bad_value,
                           {"deck.toml:11:", "'mesh.space'"}))
        << space;
  }
}

TEST(Mesh, IsOpenUntilAStartHasChosen) {
  const std::string deck = grid + "[mesh]\nspace = 'auto'\n";
  Options options = read_deck(deck, "deck.toml", {}).options;
  EXPECT_TRUE(options.mesh.is_open());
  EXPECT_TRUE(read_deck(grid, "deck.toml", {"mesh.space=auto"}).options.mesh.is_open());
  EXPECT_FALSE(read_deck(deck, "deck.toml", {"mesh.space=[2, 1]"}).options.mesh.is_open());
  EXPECT_TRUE(read_deck(resolve(options), "resolved", {}).options.mesh.is_open());
  options.mesh.space = {2, 1};
  EXPECT_EQ(space_of(resolve(options)), (std::vector<std::int64_t>{2, 1}));
  EXPECT_TRUE(test::says(message_of(grid + "[mesh]\nspace = 'all'\n"), errors::bad_value,
                         {"deck.toml:11:", "'mesh.space'", "\"auto\""}));
  EXPECT_TRUE(test::says(message_of(deck, {"data.augment.crop=1"}), errors::keys_conflict,
                         {"'mesh.space'", "'data.augment'"}));
}

TEST(Mesh, DividesTheAxesOfTheShape) {
  EXPECT_TRUE(test::says(message_of(grid + "[mesh]\nspace = [2]\n"), errors::keys_conflict,
                         {"deck.toml:11:", "'mesh.space' has 1 ", "'data.shape' has 2 "}));
  EXPECT_TRUE(test::says(message_of(grid + "[mesh]\nspace = [1, 2, 2]\n"), errors::keys_conflict,
                         {"deck.toml:11:", "'mesh.space' has 3 ", "'data.shape' has 2 "}));
}

TEST(Mesh, DividesOtherAxesThanThoseAlongWhichSamplesAreMoved) {
  const auto refused = [](const char* space, const char* key, const char* value = "true") {
    const std::string message =
        message_of(grid + "[mesh]\nspace = " + space + "\n", {fmt::format("data.augment.{}={}", key, value)});
    if (message.empty()) return false;
    EXPECT_TRUE(test::says(message, errors::keys_conflict, {"'mesh.space'", "'data.augment'", "axis"}));
    return true;
  };
  EXPECT_FALSE(refused("[2, 1]", "flip_horizontal"));
  EXPECT_TRUE(refused("[1, 2]", "flip_horizontal"));
  EXPECT_FALSE(refused("[1, 2]", "flip_vertical"));
  EXPECT_TRUE(refused("[2, 1]", "flip_vertical"));
  for (const char* const space : {"[2, 1]", "[1, 2]"}) {
    EXPECT_TRUE(refused(space, "rotate"));
    EXPECT_TRUE(refused(space, "shift", "2"));
    EXPECT_TRUE(refused(space, "crop", "2"));
  }
  EXPECT_FALSE(refused("[1, 1]", "shift", "2"));
}

const std::vector<std::string> reproducible{"run.reproducible=true", "kernels.gemm=tiles"};

std::string message_of_sums(const std::string& mesh,
                            const std::vector<std::string>& overrides = reproducible) {
  return message_of(grid + "batch = 4\nmicro_batch = 2\n[mesh]\n" + mesh + "\n", overrides);
}

TEST(Mesh, HasBoxesOfSumsThatRanksHoldInTheirOrder) {
  for (const char* const mesh :
       {"space = [1, 1]", "sums = [2, 2]", "sums = [2, 2]\nspace = [2, 1]", "sums = [2, 2]\nspace = [2, 2]",
        "sums = [1, 4]\nspace = [1, 2]", "sums = [4, 1]\nspace = [2, 1]", "sums = [2, 4]\nspace = [2, 2]"})
    EXPECT_EQ(message_of_sums(mesh), "") << mesh;
  for (const char* const mesh :
       {"sums = [2, 2]\nspace = [1, 2]", "sums = [4, 2]\nspace = [2, 2]", "sums = [2, 2]\nspace = [4, 1]",
        "sums = [3, 1]", "sums = [6, 2]\nspace = [3, 1]", "sums = [2]", "sums = [2, 2, 2]"}) {
    EXPECT_TRUE(test::says(message_of_sums(mesh), errors::keys_conflict, {"deck.toml:1", "'mesh.sums'"}))
        << mesh;
  }
}

TEST(Mesh, HasBoxesOfSumsOnlyWhereTheyMakeARunReproducible) {
  EXPECT_EQ(message_of_sums("space = [1, 2]", {}), "");
  EXPECT_TRUE(test::says(message_of_sums("space = [1, 2]"), errors::keys_conflict,
                         {"'run.reproducible'", "'mesh.sums'", "'mesh.space'"}));
  const std::string sums = "sums = [2, 2]";
  EXPECT_TRUE(test::says(message_of_sums(sums, {"kernels.gemm=tiles"}), errors::key_without_effect,
                         {"deck.toml:13:", "'mesh.sums'", "run.reproducible"}));
  EXPECT_TRUE(test::says(message_of_sums(sums, {"run.reproducible=true"}), errors::keys_conflict,
                         {"'mesh.sums'", "'kernels.gemm'"}));
}

}  // namespace
}  // namespace mylos::testing
