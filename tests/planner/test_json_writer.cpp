// The JSON that tools read.
#include "mylos/planner/json_writer.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace mylos::json_writer_test {

TEST(JsonWriter, NestsAndIndents) {
  JsonWriter json;
  json.begin_object();
  json.member("name", "a");
  json.begin_array("rows");
  json.begin_inline_object();
  json.member("x", 1);
  json.member("y", 0.1);
  json.end_object();
  json.begin_inline_object();
  json.end_object();
  json.end_array();
  json.begin_object("empty");
  json.end_object();
  json.member("last", true);
  json.end_object();
  EXPECT_EQ(json.text(), R"({
  "name": "a",
  "rows": [
    {"x": 1, "y": 0.1},
    {}
  ],
  "empty": {},
  "last": true
}
)");
}

TEST(JsonWriter, EscapesText) {
  JsonWriter json;
  json.begin_inline_object();
  json.member("quote\"", "back\\slash \n \x01 δ");
  json.end_object();
  EXPECT_EQ(json.text(), "{\"quote\\\"\": \"back\\\\slash \\u000a \\u0001 δ\"}\n");
}

TEST(JsonWriter, NumbersReadBackTheSame) {
  JsonWriter json;
  json.begin_inline_object();
  json.member("a", std::numeric_limits<std::uint64_t>::max());
  json.member("b", std::int64_t{-5});
  json.member("c", 1.0 / 3);
  json.member("d", std::numeric_limits<double>::infinity());
  json.end_object();
  EXPECT_EQ(json.text(),
            "{\"a\": 18446744073709551615, \"b\": -5, \"c\": 0.3333333333333333, \"d\": null}\n");
}

}  // namespace mylos::json_writer_test
