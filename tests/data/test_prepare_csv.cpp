#include "mylos/data/prepare/prepare_csv.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cmath>
#include <limits>

#include "data/csv_builders.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/samples.hpp"
#include "support/said.hpp"

namespace mylos::prepare_csv_test {

using namespace testing_support;

TEST(PrepareCsv, ARegressionTakesItsTargetsByNameInTheOrderGiven) {
  const TemporaryFolder folder;
  const auto dataset = prepared(folder, "x, drag,\"y\",lift\n1,10,+2.5,100\r\n\n3, 30 ,-4e-1,300",
                                regression({"lift", "drag"}));
  EXPECT_EQ(dataset.task(), Task::regression);
  EXPECT_EQ(inputs_of(dataset), (std::vector<float>{1, 2.5f, 3, -0.4f}));
  std::vector<float> targets(4);
  dataset.read_targets(0, 2, targets.data());
  EXPECT_EQ(targets, (std::vector<float>{100, 10, 300, 30}));
  EXPECT_EQ(dataset.target_statistics().mean, (std::vector<double>{200, 20}));
}

TEST(PrepareCsv, AClassificationWithoutHeaderNamesItsColumnByNumber) {
  const TemporaryFolder folder;
  const auto dataset = prepared(folder, "0.5,2,1\n1.5,0,2\n", labelled("2"));
  EXPECT_EQ(dataset.outputs(), 3);
  EXPECT_EQ(inputs_of(dataset), (std::vector<float>{0.5f, 1, 1.5f, 2}));
  std::vector<std::int32_t> labels(2);
  dataset.read_labels(0, 2, labels.data());
  EXPECT_EQ(labels, (std::vector<std::int32_t>{2, 0}));
}

TEST(PrepareCsv, WithoutTargetsAndLabelAllColumnsAreInputs) {
  const TemporaryFolder folder;
  const auto dataset = prepared(folder, "x,p,y\n1,2,3\n4,5,9\n", PrepareCsv{});
  EXPECT_EQ(dataset.task(), Task::none);
  EXPECT_EQ(inputs_of(dataset), (std::vector<float>{1, 2, 3, 4, 5, 9}));
  EXPECT_EQ(python("import h5py\nf = h5py.File('" + (folder / "data.h5") +
                   "')\nprint(sorted(f), list(f['statistics']), f['statistics/inputs/max'][:])\n"
                   "print(sorted(f.attrs))"),
            "['digests', 'input_names', 'inputs', 'statistics'] ['inputs'] [4. 5. 9.]\n"
            "['format', 'identity', 'source', 'version']\n");
  EXPECT_TRUE(test::says(refusal("x,y\n1,2\n3,nan\n", PrepareCsv{}), errors::not_finite,
                         {"data.csv:3", "column 2", "'nan'"}));
}

TEST(PrepareCsv, ColumnsOfOneNameAreRefusedWhereTheyAreRead) {
  const std::string text = "a,a,y\n1,2,3\n4,5,6\n";
  for (const PrepareCsv& job : {PrepareCsv{}, regression({"y"}), regression({"1"})})
    EXPECT_TRUE(test::says(refusal(text, job), errors::bad_names,
                           {"data.csv", "columns 1 and 2", "'a'", "--inputs"}));
  const TemporaryFolder folder;
  PrepareCsv job = regression({"y"});
  job.inputs = {"2"};
  EXPECT_EQ(inputs_of(prepared(folder, text, job)), (std::vector<float>{2, 5}));
}

TEST(PrepareCsv, NamedInputsLeaveTheOtherColumnsUnread) {
  const TemporaryFolder folder;
  PrepareCsv job = regression({"lift"});
  job.inputs = {"angle, deg", "mach"};
  const std::string text =
      "mach,profile,\"angle, deg\",date,lift\n0.25,NACA 0012,3,2024-03-01,0.5\n0.75,,-4,,-0.5\n";
  const auto dataset = prepared(folder, text, job);
  EXPECT_EQ(inputs_of(dataset), (std::vector<float>{3, 0.25f, -4, 0.75f}));
  EXPECT_EQ(dataset.input_names(), (std::vector<std::string>{"angle, deg", "mach"}));
  EXPECT_EQ(notes(text, job),
            (std::vector<std::string>{
                "data.csv: line 1 names the columns: mach, profile, \"angle, deg\", date, lift",
                "data.csv: not used: column 2 (profile), column 4 (date)"}));
  EXPECT_TRUE(test::says(refusal(text, regression({"lift"})), errors::bad_row,
                         {"data.csv:2", "column 2 (profile)", "'NACA 0012'", "--inputs"}));
  job.inputs = {"mach", "lift"};
  EXPECT_TRUE(test::says(refusal(text, job), errors::bad_argument, {"'lift'", "twice"}));
  job.inputs = {"match"};
  EXPECT_TRUE(test::says(refusal(text, job), errors::unknown_column, {"'match'", "\"angle, deg\""}));
}

TEST(PrepareCsv, RowsWithAMissingNumberAreRefusedOrLeftOut) {
  const TemporaryFolder folder;
  const std::string text =
      "x,p,note,y\n1,2,a,3\n4,,b,6\n7,8,,9\nNaN,1,c,1\n2,NA,d,2\n3,1,e,null\n10,11,f,12\n";
  PrepareCsv job = regression({"y"});
  job.inputs = {"x", "p"};
  EXPECT_TRUE(test::says(refusal(text, job), errors::bad_row, {"data.csv:3", "column 2", "--on-missing"}));
  job.on_missing = OnMissing::skip;
  const auto dataset = prepared(folder, text, job);
  EXPECT_EQ(inputs_of(dataset), (std::vector<float>{1, 2, 7, 8, 10, 11}));
  EXPECT_EQ(notes(text, job).back(), "data.csv: 4 of 7 rows left out: a number is missing");
  const auto words = prepared(
      folder, "x,p,note,y\n1,2,a,3\n-nan,2,a,3\n+NaN,2,a,3\n#N/A,2,a,3\nNone,2,a,3\nn/a,2,a,3\n4,5,b,6\n",
      job);
  EXPECT_EQ(inputs_of(words), (std::vector<float>{1, 2, 4, 5}));
  EXPECT_EQ(notes("x,y\n1,2\n", regression({"y"})).size(), 1U);
  EXPECT_TRUE(test::says(refusal("x,y\n1,\n,2\n",
                                 [&] {
                                   PrepareCsv all = regression({"y"});
                                   all.on_missing = OnMissing::skip;
                                   return all;
                                 }()),
                         errors::too_little_data, {"each of its 2 rows"}));
  job.on_missing = OnMissing::skip;  // a number that is no number is not a missing one
  EXPECT_TRUE(test::says(refusal("x,p,note,y\n1,2,a,inf\n", job), errors::not_finite, {"'inf'"}));
}

TEST(PrepareCsv, LongFilesEqualNumpysReading) {
  const TemporaryFolder folder;
  python(
      "import numpy as n\nx = n.random.default_rng(1).normal(size=(50000, 8))\n"
      "n.savetxt('" +
      (folder / "data.csv") + "', x, delimiter=',', header='a,b,c,d,e,f,g,h', comments='', fmt='%.9g')");
  prepare(PrepareCsv{.file = folder / "data.csv", .targets = {"h"}, .label = "", .out = folder / "data.h5"});
  EXPECT_EQ(
      python("import h5py, numpy as n\nf = h5py.File('" + (folder / "data.h5") + "')\nx = n.loadtxt('" +
             (folder / "data.csv") +
             "', delimiter=',', skiprows=1).astype('f4')\n"
             "print(n.array_equal(f['inputs'][:], x[:, :7]), n.array_equal(f['targets'][:], x[:, 7:]))\n"
             "print(n.allclose(f['statistics/targets/std'], x[:, 7:].astype('f8').std(0)))"),
      "True True\nTrue\n");
}

TEST(PrepareCsv, WrongValuesAreNamedByLineAndColumn) {
  EXPECT_TRUE(test::says(refusal("x,p,y\n1,2,3\n4,abc,6\n", regression({"y"})), errors::bad_row,
                         {"data.csv:3", "column 2", "'abc'"}));
  EXPECT_TRUE(test::says(refusal("1,2\n3,nan\n", regression({"1"})), errors::not_finite,
                         {"data.csv:2", "column 2", "'nan'"}));
  EXPECT_TRUE(test::says(refusal("1,2\n1e39,4\n", regression({"2"})), errors::not_finite,
                         {"data.csv:2", "column 1", "'1e39'", "32", "3.4028235e+38"}));
  EXPECT_TRUE(test::says(refusal("1,2\n-1e999,4\n", regression({"2"})), errors::not_finite,
                         {"data.csv:2", "column 1", "'-1e999'", "32", "3.4028235e+38"}));
  for (const std::string text : {"+-1", "-+1", "++1", "+", "-", "+ 1", "0x10", "1e", "1 2"}) {
    EXPECT_TRUE(test::says(refusal("1,2\n" + text + ",4\n", regression({"2"})), errors::bad_row,
                           {"data.csv:2", "column 1", text}));
  }
  EXPECT_TRUE(
      test::says(refusal("1,2\n3,\n", regression({"2"})), errors::bad_row, {"data.csv:2", "column 2", "''"}));
  EXPECT_TRUE(test::says(refusal("1,2\n\n3,4,5\n", regression({"2"})), errors::bad_row,
                         {"data.csv:3", "has 3", "has 2"}));
  EXPECT_TRUE(test::says(refusal("x,c\n1,0\n2,1.5\n", labelled("c")), errors::bad_label,
                         {"data.csv:3", "column 2", "'1.5'", "0", "1", "2"}));
  EXPECT_TRUE(test::says(refusal("x,c\n1,0\n2,3\n", labelled("c", 3)), errors::bad_label,
                         {"data.csv:3", "column 2", "'3'", "0", "to 2"}));
}

TEST(PrepareCsv, ALongCellIsCutInMessages) {
  const std::string cut = std::string(std::string(60, 'z')) + "...";
  const std::string cell(100'000, 'z');
  EXPECT_TRUE(test::says(refusal("x,y\n1," + cell + "\n", regression({"x"})), errors::bad_row,
                         {"data.csv:2", "column 2", cut}));
  EXPECT_TRUE(test::says(refusal("x," + cell + "\n1,no\n", regression({"x"})), errors::bad_row,
                         {"data.csv:2", "column 2", cut, "'no'"}));
  EXPECT_TRUE(test::says(refusal("x,c\n1," + cell + "\n", labelled("c")), errors::bad_label,
                         {"data.csv:2", "column 2", cut, "0", "1", "2"}));
  EXPECT_TRUE(test::says(refusal("x," + cell + "\n1,2\n", regression({"y"})), errors::unknown_column,
                         {"data.csv", "'y'", std::string(197, 'z')}));
  EXPECT_TRUE(test::says(refusal("1," + cell + "\n1,2\n", regression({"1"})), errors::bad_row,
                         {"data.csv:1", "column 1", "'1'", "column 2", cut,
                          "'; --header reads it as the columns'", "--no-header"}));
  EXPECT_TRUE(test::says(refusal("x,y\n1,\x1b[2J\n", regression({"x"})), errors::bad_row,
                         {"data.csv:2", "column 2", "'\\u001B[2J'"}));
}

TEST(PrepareCsv, NumbersTooNearToZeroAreTakenAsPythonTakesThem) {
  const TemporaryFolder folder;
  const auto dataset =
      prepared(folder, "1e-400,-1e-400,1e-40,1e-310,7.1e-46,0.0000e-99999999999999999999\n", PrepareCsv{});
  EXPECT_EQ(inputs_of(dataset), (std::vector<float>{0, -0.0f, 1e-40f, 0, 1.4e-45f, 0}));
  EXPECT_TRUE(std::signbit(inputs_of(dataset)[1]));
}

TEST(PrepareCsv, NumbersBesideTheMiddleOfTwoFloatsAreRoundedOnce) {
  const TemporaryFolder folder;
  // 1 + 2^-24, the middle of 1 and the next float, and both sides of it, nearer than a double resolves.
  const auto dataset = prepared(folder,
                                "1.000000059604644775390625,1.00000005960464477539062500001,"
                                "1.00000005960464477539062499999,-1.00000005960464477539062500001\n",
                                PrepareCsv{});
  const float next = 1 + std::numeric_limits<float>::epsilon();
  EXPECT_EQ(inputs_of(dataset), (std::vector<float>{1, next, 1, -next}));
}

TEST(PrepareCsv, WholeNumbersThatFloatsDoNotHoldAreToldOnceWithTheFirstOfThem) {
  const std::string first_line = "data.csv: line 1 names the columns: id, x";
  EXPECT_EQ(notes("id,x\n16777216,1\n16777217,1\n3,-16777219\n33554436.00,1\n", PrepareCsv{}),
            (std::vector<std::string>{first_line,
                                      "data.csv: 2 whole numbers above 2^24 = 16777216 are rounded to the "
                                      "nearest float32: line 3, column 1 (id) is 16777216 for 16777217"}));
  EXPECT_EQ(
      notes("id,x\n1,+0099999999.0\n", PrepareCsv{}),
      (std::vector<std::string>{first_line,
                                "data.csv: 1 whole number above 2^24 = 16777216 is rounded to the nearest "
                                "float32: line 2, column 2 (x) is 100000000 for +0099999999.0"}));
  // Beyond 64 bits; a double can represent neither 2^100 + 1 nor 2^53 + 1.
  EXPECT_EQ(notes("id,x\n1267650600228229401496703205376,9007199254740992\n", PrepareCsv{}).size(), 1u);
  EXPECT_EQ(notes("id,x\n1267650600228229401496703205377,9007199254740992\n", PrepareCsv{}).size(), 2u);
  EXPECT_EQ(notes("id,x\n1267650600228229401496703205376,9007199254740993\n", PrepareCsv{}).size(), 2u);
  // Rounding of measured values is normal and not reported; a class is not a float.
  EXPECT_EQ(notes("id,x\n16777217.5,1.6777217e7\n", PrepareCsv{}).size(), 1u);
  EXPECT_EQ(notes("id,x\n1,16777217\n", labelled("x")).size(), 1u);
}

TEST(PrepareCsv, SaysWhatTheFirstLineWasTakenFor) {
  EXPECT_EQ(notes("\nx,\"a b\"\n1,2\n", PrepareCsv{}),
            std::vector<std::string>{"data.csv: line 2 names the columns: x, a b"});
  EXPECT_EQ(notes("2019,2020\n1,2\n", PrepareCsv{}),
            std::vector<std::string>{
                "data.csv: line 1 is the first sample: 2019, 2020; --header reads it as the columns' names"});
  EXPECT_EQ(notes("2019,2020\n1,2\n", with_header(false, {})),
            std::vector<std::string>{"data.csv: line 1 is the first sample: 2019, 2020"});
}

TEST(PrepareCsv, NumbersAreNamesWhereTheUserSaysSo) {
  const TemporaryFolder folder;
  const auto dataset = prepared(folder, "2019,2020,2021\n1,2,3\n", with_header(true, regression({"2020"})));
  EXPECT_EQ(inputs_of(dataset), (std::vector<float>{1, 3}));
  EXPECT_EQ(dataset.samples(), 1);
  EXPECT_TRUE(test::says(refusal("1,2\n", with_header(true, {})), errors::too_little_data, {"data.csv"}));
}

TEST(PrepareCsv, AFirstLineThatIsNumbersInPartIsRefusedUnlessTheUserSaysWhatItIs) {
  const std::string which = "; --header reads it as the columns' names, --no-header as the first sample";
  const std::string missing = "1,,3\n4,5,6\n";
  EXPECT_TRUE(test::says(refusal(missing, regression({"3"})), errors::bad_row,
                         {"data.csv:1", "column 1", "'1'", "column 2", which}));
  EXPECT_TRUE(test::says(refusal("x,2020,2021\n4,5,6\n", {}), errors::bad_row,
                         {"data.csv:1", "column 2", "'2020'", "column 1", "'x'", which}));
  EXPECT_TRUE(test::says(refusal("x,nan\n4,5\n", {}), errors::bad_row,
                         {"data.csv:1", "column 2", "'nan'", "column 1", "'x'", which}));
  EXPECT_TRUE(test::says(refusal(",\n4,5\n", {}), errors::bad_row, {"data.csv:1", which}));
  EXPECT_TRUE(test::says(refusal(missing, with_header(false, regression({"3"}))), errors::bad_row,
                         {"data.csv:1", "column 2", "''"}));
  EXPECT_TRUE(
      test::says(refusal("1,inf\n4,5\n", {}), errors::not_finite, {"data.csv:1", "column 2", "'inf'"}));
  EXPECT_TRUE(test::says(refusal("1,1e999\n4,5\n", {}), errors::not_finite,
                         {"data.csv:1", "column 2", "'1e999'", "32", "3.4028235e+38"}));
  EXPECT_EQ(notes(missing, with_header(true, regression({"3"}))),
            std::vector<std::string>{"data.csv: line 1 names the columns: 1, , 3"});
  EXPECT_EQ(notes(",x,y\n4,5,6\n", {}),
            std::vector<std::string>{"data.csv: line 1 names the columns: , x, y"});
}

TEST(PrepareCsv, AWordIsANameBeforeItIsANumber) {
  const TemporaryFolder folder;
  const PrepareCsv third = with_header(true, regression({"3"}));
  const std::string table = "3,2,1\n10,20,30\n";
  EXPECT_EQ(inputs_of(prepared(folder, table, third)), (std::vector<float>{20, 30}));
  EXPECT_EQ(notes(table, third).back(),
            "data.csv: '3' is the name of column 1, so it does not mean column 3");
  EXPECT_EQ(notes(table, with_header(true, regression({"2"}))).size(), 1u);
  EXPECT_EQ(inputs_of(prepared(folder, "a,b,c\n10,20,30\n", regression({"3"}))),
            (std::vector<float>{10, 20}));
  EXPECT_EQ(notes("a,b,c\n10,20,30\n", regression({"3"})).size(), 1u);
  EXPECT_TRUE(test::says(refusal("2,2,5\n1,2,3\n", with_header(true, regression({"2"}))), errors::bad_names,
                         {"data.csv", "'2'"}));
}

TEST(PrepareCsv, ATestTableWithoutTheLargestClassTakesTheNumberOfClasses) {
  const TemporaryFolder folder;
  EXPECT_EQ(prepared(folder, "x,c\n1,0\n2,1\n", labelled("c", 5)).outputs(), 5);
  PrepareCsv classes_alone;
  classes_alone.classes = 5;
  EXPECT_TRUE(test::says(refusal("x,c\n1,0\n", classes_alone), errors::arguments_conflict,
                         {"data.csv", "--classes 5", "--label"}));
}

TEST(PrepareCsv, APipeIsRefusedAtOnce) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  PrepareCsv job;
  job.file = folder / "pipe";
  job.out = folder / "data.h5";
  EXPECT_TRUE(test::says(test::refusal_of([&] { prepare(job); }), errors::not_a_file, {job.file}));
}

TEST(PrepareCsv, WrongColumnsAreRefused) {
  EXPECT_TRUE(
      test::says(refusal("x,y\n1,2\n", regression({"z"})), errors::unknown_column, {"data.csv", "'z'"}));
  EXPECT_TRUE(test::says(refusal("1,2\n", regression({"z"})), errors::unknown_column,
                         {"data.csv", "'z'", "1", "to 2"}));
  EXPECT_TRUE(test::says(refusal("1,2\n", regression({"3"})), errors::unknown_column,
                         {"data.csv", "column 3", "expected 1", "to 2"}));
  EXPECT_TRUE(
      test::says(refusal("x,y\n1,2\n", regression({"x", "1"})), errors::bad_argument, {"data.csv", "'1'"}));
  EXPECT_TRUE(
      test::says(refusal("x,y\n1,2\n", regression({"x", "y"})), errors::bad_argument, {"data.csv", "all 2"}));
  EXPECT_TRUE(test::says(refusal("x,x\n1,2\n", labelled("x")), errors::bad_names, {"data.csv", "'x'"}));
  PrepareCsv both = regression({"x"});
  both.label = "y";
  EXPECT_TRUE(test::says(refusal("x,y\n1,2\n", both), errors::arguments_conflict,
                         {"data.csv", "--label", "--targets"}));
}

TEST(PrepareCsv, WhatIsNoTextIsRefusedByItsLine) {
  EXPECT_TRUE(test::says(refusal({"x\0,\0y\0\n\0", 8}, {}), errors::bad_encoding, {"data.csv:1:", "NUL"}));
  EXPECT_TRUE(
      test::says(refusal({"x,y\n1,2\n3,\0004\n", 13}, {}), errors::bad_encoding, {"data.csv:3:", "NUL"}));
  EXPECT_TRUE(
      test::says(refusal(std::string(100'000, '\0'), {}), errors::bad_encoding, {"data.csv:1:", "NUL"}));
}

TEST(PrepareCsv, ALineHasABoundAndMemoryWithIt) {
  const std::string long_line(std::size_t{64} << 20, 'z');
  EXPECT_TRUE(test::says(refusal(long_line + "z", {}), errors::too_large, {"data.csv:1:", "64 MiB"}));
  EXPECT_TRUE(test::says(refusal("x,y\n1,2\n3," + long_line + "\n", {}), errors::too_large,
                         {"data.csv:3:", "64 MiB"}));
  EXPECT_TRUE(test::says(refusal("x\n" + long_line + "\n", {}), errors::bad_row,
                         {"data.csv:2", "column 1", std::string(60, 'z')}));
}

TEST(PrepareCsv, EmptyFilesAreRefused) {
  EXPECT_TRUE(test::says(refusal("", regression({"1"})), errors::too_little_data, {"data.csv"}));
  EXPECT_TRUE(test::says(refusal("x,y\n", regression({"x"})), errors::too_little_data, {"data.csv"}));
}

}  // namespace mylos::prepare_csv_test
