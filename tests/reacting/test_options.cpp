#include <gtest/gtest.h>

#include <vector>

#include "mylos/base/errors/command_line.hpp"
#include "mylos/mylos.hpp"
#include "options.hpp"

namespace reacting {

namespace {

Options read(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "reacting");
  return read_options(static_cast<int>(arguments.size()), arguments.data());
}

void expect_refusal(mylos::ErrorId id, const char* part, std::vector<const char*> arguments) {
  try {
    read(std::move(arguments));
    ADD_FAILURE() << part;
  } catch (const mylos::Error& error) {
    EXPECT_EQ(error.id(), id);
    EXPECT_NE(error.message().find(part), std::string_view::npos) << error.what();
  }
}

TEST(Options, AreRead) {
  const Options options =
      read({"deck.toml", "cells=64", "dt=0.5", "mode=alone", "restart=true", "error_bound=0.02"});
  EXPECT_EQ(options.surrogate.deck, "deck.toml");
  EXPECT_EQ(options.cells, 64);
  EXPECT_EQ(options.dt, 0.5);
  EXPECT_EQ(options.mode, Mode::alone);
  EXPECT_TRUE(options.restart);
  EXPECT_EQ(options.surrogate.error_bound, 0.02);
  EXPECT_EQ(options.steps, Options().steps);
}

TEST(Options, WrongOnesAreRefused) {
  namespace errors = mylos::errors;
  expect_refusal(errors::missing_argument, "deck", {});
  expect_refusal(errors::unknown_option, "options are mode, cells", {"deck.toml", "cell=3"});
  expect_refusal(errors::bad_argument, "an integer from 2", {"deck.toml", "cells=1"});
  expect_refusal(errors::bad_argument, "an integer from 2", {"deck.toml", "cells=64x"});
  expect_refusal(errors::bad_argument, "write cells=VALUE", {"deck.toml", "cells"});
  expect_refusal(errors::bad_argument, "a number above 0", {"deck.toml", "dt=nan"});
  expect_refusal(errors::bad_argument, "compare, alone or surrogate", {"deck.toml", "mode=both"});
  expect_refusal(errors::arguments_conflict, "mode is compare", {"deck.toml", "restart=true"});
}

}  // namespace

}  // namespace reacting
