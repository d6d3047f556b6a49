// Separators, quotes and names of the tables that `prepare csv` reads.
#include <gtest/gtest.h>

#include "data/csv_builders.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/data.hpp"
#include "support/said.hpp"

namespace mylos::csv_separators_test {

using namespace testing_support;

TEST(CsvNames, ColumnsAreNamedInTheFile) {
  const TemporaryFolder folder;
  const std::string names = "T,\"wind, east\",\"a \"\"b\"\"\", , drag\n";
  const Dataset dataset = prepared(folder, names + "1,2,3,4,5\n", regression({"drag", "T"}));
  EXPECT_EQ(dataset.input_names(), (std::vector<std::string>{"wind, east", "a \"b\"", "column 4"}));
  EXPECT_EQ(dataset.target_names(), (std::vector<std::string>{"drag", "T"}));
  EXPECT_EQ(inputs_of(dataset), (std::vector<float>{2, 3, 4}));
  EXPECT_EQ(inputs_of(prepared(folder, names + "1,2,3,4,5\n", regression({"a \"b\"", "T"}))),
            (std::vector<float>{2, 4, 5}));
  EXPECT_EQ(python("import h5py\nf = h5py.File('" + (folder / "data.h5") +
                   "')\nprint(f['target_names'][()].decode().split('\\n'))"),
            "['a \"b\"', 'T']\n");
  EXPECT_TRUE(prepared(folder, "1,2,3\n", regression({"1"})).input_names().empty());
}

TEST(CsvSeparators, TheSeparatorIsSeenFromTheFirstLine) {
  const TemporaryFolder folder;
  const auto inputs = [&](const std::string& text) {
    return inputs_of(prepared(folder, text, PrepareCsv{}));
  };
  const std::vector<float> expected{1, 2.5f, 3, 4};
  EXPECT_EQ(inputs("x,y\n1,2.5\n3,4\n"), expected);
  EXPECT_EQ(inputs("x;y\n1;2.5\n3; 4\n"), expected);
  EXPECT_EQ(inputs("x\ty\n1\t2.5\n3\t 4\n"), expected);
  EXPECT_EQ(inputs("\xef\xbb\xbf\"x\";\"y\"\r\n1;2.5\r\n3;4\r\n"), expected) << "a byte order mark";
  EXPECT_EQ(inputs("\"u; v\",\"w\tx\"\n1,2.5\n3,4\n"), expected) << "quoted ones separate nothing";
  EXPECT_EQ(inputs("x,\ty\t\n1,2.5\n3,\t4\n"), expected) << "a tab beside a comma is a blank";
  EXPECT_EQ(inputs("1;2.5\n3;4\n"), expected);
  EXPECT_EQ(notes("x;y\n1;2\n", PrepareCsv{}),
            (std::vector<std::string>{"data.csv: line 1 names the columns: x, y",
                                      "data.csv: semicolons separate the columns"}));
}

TEST(CsvSeparators, WhereTheFirstLineLeavesItOpenTheUserSaysTheSeparator) {
  const std::string text = "unit, of x;y\n1;2\n";
  EXPECT_TRUE(test::says(refusal(text, {}), errors::missing_argument, {"data.csv:1", "--separator"}));
  PrepareCsv job;
  job.separator = ';';
  const TemporaryFolder folder;
  EXPECT_EQ(prepared(folder, text, job).input_names(), (std::vector<std::string>{"unit, of x", "y"}));
  EXPECT_TRUE(test::says(refusal("x;y\n1,5;2\n", {}), errors::bad_row, {"data.csv:2", "column 1", "'1,5'"}));
  job.separator = ',';
  EXPECT_TRUE(test::says(refusal("x;y\n1;2\n", job), errors::bad_row, {"data.csv:2", "column 1", "'1;2'"}));
}

TEST(CsvSeparators, QuotesThatAreNotClosedAndNamesThatAreNoTextAreRefused) {
  EXPECT_TRUE(test::says(refusal("\"x,y\n1,2\n", {}), errors::bad_row, {"data.csv:1", "'x,y'"}));
  EXPECT_TRUE(test::says(refusal("x,y\n1,\"2\n", {}), errors::bad_row, {"data.csv:2", "'2'"}));
  EXPECT_TRUE(
      test::says(refusal("x,y\n1,\"2\"3\n", {}), errors::bad_row, {"data.csv:2", "column 2", "'\"2\"3'"}));
  EXPECT_TRUE(test::says(refusal("x,caf\xe9\n1,2\n", {}), errors::bad_encoding,
                         {"data.csv:1", "column 2", "-8", "'caf\\xE9'"}));
}

}  // namespace mylos::csv_separators_test
