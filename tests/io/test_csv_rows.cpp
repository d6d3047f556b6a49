// Rows of CSV files that arrive in pieces, and the numbers in their fields.
#include "mylos/io/tables/csv_rows.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "mylos/base/numbers/number_text.hpp"

namespace mylos::csv_rows_test {

TEST(ToNumber, TakesNumbersAndNothingBesideThem) {
  EXPECT_EQ(to_number<double>("1.5"), 1.5);
  EXPECT_EQ(to_number<double>("-2e-3"), -0.002);
  EXPECT_TRUE(std::isinf(to_number<double>("inf").value()) && std::isnan(to_number<double>("nan").value()));
  for (const char* text : {"", "1.5abc", "1.5 ", " 1.5", "0x10", "1,5", "+1", "1.5.2", "abc"})
    EXPECT_EQ(to_number<double>(text), std::nullopt) << text;
}

TEST(CsvRows, FindsColumnsByNameWhateverElseThereIs) {
  std::vector<std::string> seen;
  CsvRows rows({"loss", "missing", "step"}, [&](CsvRows::Row row) {
    for (const auto field : row) seen.emplace_back(field);
    return true;
  });
  for (const char c : std::string("step,future,loss\r\n1,x,0.5\r\n2,y,0.25\r\n")) rows.feed({&c, 1});
  EXPECT_EQ(seen, (std::vector<std::string>{"0.5", "", "1", "0.25", "", "2"}));
  EXPECT_TRUE(rows.has(0));
  EXPECT_FALSE(rows.has(1));
}

TEST(CsvRows, CountsDamagedRowsAndLeavesTheHalfOneAtTheEnd) {
  CsvRows rows({"a"}, [](CsvRows::Row row) { return to_number<double>(row[0]).has_value(); });
  rows.feed("a,b\n1,2\n3\n4,5,6\nx,7\n" + std::string(1 << 20, '9') + "\n8,9\n10,1");
  EXPECT_EQ(rows.rows(), 2);
  EXPECT_EQ(rows.damaged(), 4);
  EXPECT_TRUE(rows.ends_within_row());
}

TEST(CsvRows, ReadsQuotedFields) {
  std::vector<std::string> seen;
  CsvRows rows({"cause", "key,1", "end"}, [&](CsvRows::Row row) {
    for (const auto field : row) seen.emplace_back(field);
    return true;
  });
  rows.feed("cause,\"key,1\",end\n\"a, b\",\"[1, 2]\",3\n\"\"\"x\"\" and \"\"y\"\"\",\"\",\"\"\"\"\n");
  EXPECT_EQ(seen, (std::vector<std::string>{"a, b", "[1, 2]", "3", "\"x\" and \"y\"", "", "\""}));
  rows.feed("\"a,b,c\n\"a\"b,c,d\n\"\"\",b,c\na\"b,c,d\n");
  EXPECT_EQ(rows.damaged(), 3) << "quotes that do not end, or that text follows";
  EXPECT_EQ(seen[6], "a\"b") << "quotes within a field that is not quoted";
}

}  // namespace mylos::csv_rows_test
