#include "mylos/data/files/meaning/column_names.hpp"

#include <gtest/gtest.h>

#include "data/builders.hpp"
#include "mylos/base/errors/data.hpp"
#include "support/said.hpp"

namespace mylos::column_names_test {

using namespace testing_support;
using Names = std::vector<std::string>;

/// Returns the names read from a file that a line of Python writes; `f` is the file.
Names names_of(const std::string& line) {
  const TemporaryFolder folder;
  const std::string path = folder / "names.h5";
  python("import h5py, numpy as n\nf = h5py.File('" + path + "', 'w')\n" + line + "\n");
  return read_names(hdf5::File::open(path), "/names");
}

TEST(ColumnNames, AreReadInEveryFormThatH5pyWrites) {
  const Names expected{"T", "wind, east", "\xc3\xa9"};
  EXPECT_EQ(names_of("f['names'] = ['T', 'wind, east', '\\u00e9']"), expected) << "variable length";
  EXPECT_EQ(names_of("f['names'] = n.array([b'T', b'wind, east', '\\u00e9'.encode()])"), expected)
      << "fixed length";
  EXPECT_EQ(names_of("f['names'] = 'T\\nwind, east\\n\\u00e9'"), expected) << "one text of variable length";
  EXPECT_EQ(names_of("f['names'] = n.bytes_('T\\nwind, east\\n\\u00e9\\n'.encode())"), expected)
      << "one text";
  const Names escaped{"a", "\\xE9", "\\u001B[31mred"};  // what terminals follow, and JSON and ONNX refuse
  EXPECT_EQ(names_of("f['names'] = n.array([b'a', b'\\xe9', b'\\x1b[31mred'])"), escaped);
  EXPECT_EQ(names_of("f['names'] = n.bytes_(b'a\\n\\xe9\\n\\x1b[31mred')"), escaped);
  EXPECT_EQ(names_of_text(text_of_names(escaped)), escaped);
  EXPECT_EQ(names_of("f['other'] = 1"), Names{});
}

TEST(ColumnNames, ComeBackAsTheyWereWritten) {
  const TemporaryFolder folder;
  auto file = hdf5::File::create(folder / "names.h5");
  write_names(file, "/names", {"T", "wind, east"});
  file.close();
  EXPECT_EQ(read_names(hdf5::File::open(folder / "names.h5"), "/names"), (Names{"T", "wind, east"}));
  EXPECT_EQ(names_of_text(text_of_names({"a b", "c"})), (Names{"a b", "c"}));
}

TEST(ColumnNames, WhatIsNoNameIsRefused) {
  const auto message = [](const std::string& line) {
    const std::string found = test::refusal_of([&] { (void)names_of(line); });
    return found.substr(found.find("names.h5: ") + 10);
  };
  EXPECT_TRUE(test::says(message("f['names'] = ['a', '']"), errors::bad_names, {"/names 1", "''"}));
  EXPECT_TRUE(
      test::says(message("f['names'] = ['a\\nb', 'c']"), errors::bad_names, {"/names 0", "'a\\u000Ab'"}));
  EXPECT_TRUE(test::says(message("f['names'] = [['a', 'b']]"), {"/names", "has 2", "expected 1", "[texts]"}));
  EXPECT_TRUE(test::says(message("f['names'] = n.arange(3)"), {"/names", "64"}));
}

TEST(ColumnNames, TheOrderIsWhereEachNameLies) {
  EXPECT_EQ(order_by_name({"T", "p", "q"}, {"q", "T", "p"}, "f: its inputs", "t"), (ColumnOrder{1, 2, 0}));
  EXPECT_EQ(order_by_name({"T", "p"}, {"T", "p"}, "f: its inputs", "t"), ColumnOrder{});
  EXPECT_EQ(order_by_name({"x", "x"}, {"x", "x"}, "f: its inputs", "t"), ColumnOrder{}) << "as they lie";
}

TEST(ColumnNames, OtherNamesAreRefusedWithBoth) {
  const auto message = [](const Names& expected, const Names& given) {
    return test::refusal_of([&] { (void)order_by_name(expected, given, "new.h5: its inputs", "old.h5"); });
  };
  EXPECT_TRUE(test::says(message({"T", "p"}, {"T", "pressure"}), errors::bad_names, {"new.h5", "old.h5"}));
  EXPECT_TRUE(test::says(message({"T", "p"}, {"T"}), errors::bad_names, {"new.h5", "old.h5"}));
  EXPECT_TRUE(
      test::says(message({"T", "x", "x"}, {"x", "x", "T"}), errors::bad_names, {"new.h5", "old.h5", "'x'"}));
  EXPECT_TRUE(test::says(message({"T", "x", "x"}, {"x", "T"}), errors::bad_names, {"new.h5", "old.h5"}));
}

}  // namespace mylos::column_names_test
