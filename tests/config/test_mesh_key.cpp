// mesh.space, and its refusal where samples cannot be divided so.
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

TEST(Mesh, DividesTheAxesOfTheShape) {
  EXPECT_TRUE(test::says(message_of(grid + "[mesh]\nspace = [2]\n"), errors::keys_conflict,
                         {"deck.toml:11:", "'mesh.space' has 1 ", "'data.shape' has 2 "}));
  EXPECT_TRUE(test::says(message_of(grid + "[mesh]\nspace = [1, 2, 2]\n"), errors::keys_conflict,
                         {"deck.toml:11:", "'mesh.space' has 3 ", "'data.shape' has 2 "}));
}

TEST(Mesh, IsNotDividedInAReproducibleRun) {
  const std::string reproducible = grid + "batch = 4\nmicro_batch = 2\n[mesh]\nspace = [1, 2]\n";
  EXPECT_EQ(message_of(reproducible), "");
  EXPECT_TRUE(test::says(message_of(reproducible, {"run.reproducible=true"}), errors::keys_conflict,
                         {"'run.reproducible'", "'mesh.space'"}));
  EXPECT_EQ(message_of(reproducible, {"run.reproducible=true", "mesh.space=[1, 1]"}), "");
}

}  // namespace
}  // namespace mylos::testing
