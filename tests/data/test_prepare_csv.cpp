#include "mylos/data/prepare_csv.hpp"

#include <gtest/gtest.h>

#include "data/builders.hpp"

namespace mylos::prepare_csv_test {

using namespace testing_support;

/// Prepares a file of this text; `job` says what is asked.
Dataset prepared(const TemporaryFolder& folder, const std::string& text, PrepareCsv job) {
  write_file(folder / "data.csv", text);
  job.file = folder / "data.csv";
  job.out = folder / "data.h5";
  prepare(job);
  return Dataset(job.out, Answers::optional);
}

std::string refusal(const std::string& text, const PrepareCsv& job) {
  const TemporaryFolder folder;
  std::string message = error_of([&] { (void)prepared(folder, text, job); });
  EXPECT_FALSE(std::filesystem::exists(folder / "data.h5") ||
               std::filesystem::exists(folder / "data.h5.tmp"));
  const std::string prefix = folder.path() + "/";
  return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
}

PrepareCsv labelled(const std::string& column, std::int64_t classes = 0) {
  return {.file = "", .targets = {}, .label = column, .out = "", .classes = classes};
}
PrepareCsv regression(const std::vector<std::string>& columns) {
  return {.file = "", .targets = columns, .label = "", .out = ""};
}

std::vector<float> inputs_of(const Dataset& dataset) {
  std::vector<float> inputs(static_cast<std::size_t>(dataset.samples() * dataset.features()));
  dataset.read_inputs(0, dataset.samples(), inputs.data());
  return inputs;
}

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
            "['inputs', 'statistics'] ['inputs'] [4. 5. 9.]\n"
            "['format', 'identity', 'source', 'version']\n");
  EXPECT_EQ(refusal("x,y\n1,2\n3,nan\n", PrepareCsv{}),
            "data.csv:3: column 2 (y) is 'nan', expected a finite number");
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
  EXPECT_EQ(refusal("x,p,y\n1,2,3\n4,abc,6\n", regression({"y"})),
            "data.csv:3: column 2 (p) is 'abc', expected a finite number");
  EXPECT_EQ(refusal("1,2\n3,nan\n", regression({"1"})),
            "data.csv:2: column 2 is 'nan', expected a finite number");
  EXPECT_EQ(refusal("1,2\n1e39,4\n", regression({"2"})),
            "data.csv:2: column 1 is '1e39', expected a finite number");
  EXPECT_EQ(refusal("1,2\n3,\n", regression({"2"})), "data.csv:2: column 2 is '', expected a finite number");
  EXPECT_EQ(refusal("1,2\n\n3,4,5\n", regression({"2"})), "data.csv:3: has 3 columns, the first line has 2");
  EXPECT_EQ(refusal("x,c\n1,0\n2,1.5\n", labelled("c")),
            "data.csv:3: column 2 (c) is '1.5', expected a class: 0, 1, 2 ...");
  EXPECT_EQ(refusal("x,c\n1,0\n2,3\n", labelled("c", 3)),
            "data.csv:3: column 2 (c) is '3', expected a class: 0 to 2");
}

TEST(PrepareCsv, WrongColumnsAreRefused) {
  EXPECT_EQ(refusal("x,y\n1,2\n", regression({"z"})), "data.csv: has no column 'z'; its columns are x, y");
  EXPECT_EQ(refusal("1,2\n", regression({"z"})),
            "data.csv: has no header to find column 'z' in; name it by its number, 1 to 2");
  EXPECT_EQ(refusal("1,2\n", regression({"3"})), "data.csv: has no column 3, expected 1 to 2");
  EXPECT_EQ(refusal("x,y\n1,2\n", regression({"x", "1"})), "data.csv: column '1' is given twice");
  EXPECT_EQ(refusal("x,y\n1,2\n", regression({"x", "y"})),
            "data.csv: all 2 columns are to be predicted, none is left as input");
  EXPECT_EQ(refusal("x,x\n1,2\n", labelled("x")),
            "data.csv: two columns are called 'x'; name it by its number");
  PrepareCsv both = regression({"x"});
  both.label = "y";
  EXPECT_EQ(
      refusal("x,y\n1,2\n", both),
      "data.csv: --label (classification) and --targets (regression) are both given, expected one of them");
}

TEST(PrepareCsv, EmptyFilesAreRefused) {
  EXPECT_EQ(refusal("", regression({"1"})), "data.csv: is empty");
  EXPECT_EQ(refusal("x,y\n", regression({"x"})), "data.csv: has a header but no samples");
}

}  // namespace mylos::prepare_csv_test
