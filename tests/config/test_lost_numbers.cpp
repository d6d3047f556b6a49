// Numbers that float, or even double, rounds to 0 or to a bound.
#include <gtest/gtest.h>

#include "config/deck_builders.hpp"
#include "mylos/base/errors/deck.hpp"
#include "support/said.hpp"

namespace mylos::testing::lost_numbers_test {

void expect_refused(const std::string& key, const std::string& value, const std::string& wanted,
                    const std::string& found) {
  EXPECT_TRUE(test::says(message_of("# a comment\n" + key + " = " + value + "\n"), errors::bad_value,
                         {"deck.toml:2:", key, wanted, found}));
}

TEST(NumberThatFloatLoses, IsRefusedWithWhatIsLeftOfIt) {
  const std::string lr = "a number above 0 and at most 1000";
  expect_refused("optimizer.lr", "1e-320", lr, "the number 1e-320, which is 0 in float");
  expect_refused("optimizer.lr", "1e-46", lr, "the number 1e-46, which is 0 in float");
  expect_refused("optimizer.weight_decay", "1e-320", "a number from 0 to 1000",
                 "the number 1e-320, which is 0 in float");
  const std::string fraction = "a number of at least 0 and below 1";
  expect_refused("model.dropout", "0.99999999", fraction, "the number 0.99999999, which is 1 in float");
  expect_refused("optimizer.momentum", "0.99999999", fraction, "the number 0.99999999, which is 1 in float");
  expect_refused("optimizer.betas", "[0.9, 0.99999999]", "a list of 2 numbers of at least 0 and below 1",
                 "the number 0.99999999 at place 2, which is 1 in float");
  expect_refused("precision.scaler.growth_factor", "1.00000001", "a number above 1 and at most 65536",
                 "the number 1.00000001, which is 1 in float");
  // A number that is 0 even in double is not confused with a written 0.
  for (const std::string tiny : {"1e-400", "-0.001e-9999", "0.0000001e-320", "+12_5.5E-400"}) {
    expect_refused("optimizer.lr", tiny, lr, "the number " + tiny + ", which is 0 in double");
    expect_refused("optimizer.weight_decay", tiny, "a number from 0 to 1000",
                   "the number " + tiny + ", which is 0 in double");
    EXPECT_TRUE(test::says(
        message_of("optimizer = { type = \"sgd\", \"\u00e4\" = 1, lr = " + tiny + " }"), errors::unknown_key,
        {"deck.toml:1:", "'optimizer.\u00e4'", "[optimizer]", "weight_decay", "clip_norm"}));
    EXPECT_TRUE(test::says(
        message_of("precision = { rules = { \"\u00e4\" = \"fp32\" }, compute = " + tiny + " }"),
        errors::bad_value,
        {"deck.toml:1:", "'precision.compute'", "\"bf16\"", "\"fp16\"", "\"fp32\"", tiny, "is 0"}));
  }
  for (const char* zero : {"0", "0.0", "-0.0", "0e-400", "0.000e5"}) {
    EXPECT_EQ(read_with("", {std::string("optimizer.weight_decay=") + zero}).options.optimizer.weight_decay,
              0);
  }
  EXPECT_TRUE(test::says(message_with({"optimizer.lr=1e-400"}), errors::bad_value,
                         {"'optimizer.lr'", lr, "number 1e-400", "is 0"}));
}

}  // namespace mylos::testing::lost_numbers_test
