#include "mylos/data/tokens/stamp.hpp"

#include <gtest/gtest.h>

#include "data/digest_builders.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/data/files/dataset.hpp"
#include "mylos/data/files/dataset_writer.hpp"
#include "mylos/data/tokens/token_dataset.hpp"
#include "support/said.hpp"

namespace mylos::stamp_test {

using namespace testing_support;

/// Every dataset and attribute of two files that `mylos prepare` might have written, compared by Python.
void expect_same_contents(const std::string& left, const std::string& right) {
  EXPECT_EQ(python("import h5py\n"
                   "def all_of(path):\n"
                   "    found = {}\n"
                   "    with h5py.File(path) as f:\n"
                   "        found.update(f.attrs)\n"
                   "        f.visititems(lambda name, item: found.update({name: item[()].tobytes()})\n"
                   "                     if isinstance(item, h5py.Dataset) else None)\n"
                   "    found.pop('source', None)\n    return found\n"
                   "a, b = all_of('" +
                   left + "'), all_of('" + right +
                   "')\nassert a.keys() == b.keys(), a.keys() ^ b.keys()\n"
                   "print([name for name in a if a[name] != b[name]])"),
            "[]\n");
}

TEST(Stamp, OfAnEditedFileIsWhatPrepareWouldWrite) {
  const TemporaryFolder folder;
  const DatasetShape shape{.task = Task::regression, .samples = 3000, .features = 8, .outputs = 2};
  std::vector<float> inputs(3000 * 8), targets(3000 * 2);
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = static_cast<float>(i % 997);
  for (std::size_t i = 0; i < targets.size(); ++i) targets[i] = static_cast<float>(i % 13);
  const auto write = [&](const std::string& path) {
    DatasetWriter writer(path, shape, "a test");
    writer.add_inputs(inputs.data(), 3000);
    writer.add_targets(targets.data(), 3000);
    writer.finish();
    return path;
  };
  const std::string edited = write(folder / "edited.h5");
  const std::string before = Dataset(edited).identity();
  edit(edited, "f['inputs'][2500, 3] = 1e6; f['targets'][7, 1] = -5");
  stamp(edited);
  inputs[2500 * 8 + 3] = 1e6f;
  targets[7 * 2 + 1] = -5;
  expect_same_contents(edited, write(folder / "prepared.h5"));
  EXPECT_NE(Dataset(edited).identity(), before);
  Dataset(edited).read_all([](const std::byte*, std::int64_t) {}, [](const std::byte*, std::int64_t) {});
}

TEST(Stamp, OfAFileFromElsewhereKeepsWhatElseItHolds) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  python("import h5py, numpy as n\nf = h5py.File('" + path +
         "', 'w')\nf['inputs'] = n.arange(12, dtype='>f4').reshape(6, 2)\nf['labels'] = n.arange(6) % 3\n"
         "f.attrs['classes'] = 3\nf.attrs['mine'] = 'kept'\nf['more/of'] = [1, 2]\n"
         "f['statistics/inputs/mean'] = n.zeros(7)\nf.attrs['identity'] = 'of older contents'\n");
  std::filesystem::create_symlink(path, folder / "link.h5");
  stamp(folder / "link.h5");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.h5"));
  EXPECT_EQ(python("import h5py\nf = h5py.File('" + path +
                   "')\nprint(f.attrs['mine'], f['more/of'][:].tolist(), "
                   "f['statistics/inputs/mean'][:].tolist())"),
            "kept [1, 2] [5.0, 6.0]\n");
  std::vector<std::int32_t> labels(6);
  Dataset(path).read_labels(0, 6, labels.data());
  EXPECT_EQ(labels, (std::vector<std::int32_t>{0, 1, 2, 0, 1, 2}));
  edit(path, "f['labels'][5] = 0");
  EXPECT_TRUE(says_changed(test::refusal_of([&] { Dataset(path).read_labels(0, 6, labels.data()); }), path,
                           "a value of /labels in rows 0 to 5 (counted from 0)"));
}

TEST(Stamp, OfAGridHasTheStatisticsOfItsChannels) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  python("import h5py, numpy as n\nf = h5py.File('" + path +
         "', 'w')\nf['inputs'] = n.arange(24, dtype='f4').reshape(2, 12)\nf.attrs['shape'] = '2 3 2'\n");
  stamp(path);
  EXPECT_EQ(python("import h5py\nf = h5py.File('" + path +
                   "')\nprint({k: v[:].round(3).tolist() for k, v in f['statistics/channels'].items()})"),
            "{'max': [22.0, 23.0], 'mean': [11.0, 12.0], 'min': [0.0, 1.0], 'std': [6.904, 6.904]}\n");
}

TEST(Stamp, OfTokensTakesTheNewOnes) {
  const TemporaryFolder folder;
  const std::string path = prepared_characters(folder / "a.h5");
  const std::string before = TokenDataset(path).identity();
  edit(path, "f['tokens'][69999] = 2 - f['tokens'][69999]; f['vocabulary'][()] = n.bytes_(b'xyz')");
  stamp(path);
  const TokenDataset dataset(path);
  EXPECT_NE(dataset.identity(), before);
  dataset.read_all([](const std::byte*, std::int64_t) {});
  EXPECT_EQ(dataset.vocabulary().text(), "xyz");
}

TEST(Stamp, RefusesWhatPrepareWouldRefuseAndLeavesTheFileAlone) {
  const TemporaryFolder folder;
  const std::string path = prepared_images(folder / "a.h5");
  edit(path, "f['labels'][77] = 10");
  const std::string before = read_file(path);
  EXPECT_TRUE(test::says(test::refusal_of([&] { stamp(path); }), errors::bad_label,
                         {path, "/labels", "row 77", "is 10", "expected 0", "to 9"}));
  EXPECT_TRUE(read_file(path) == before);
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
  EXPECT_TRUE(test::says(test::refusal_of([&] { stamp(folder / "none.h5"); }), errors::no_such_file,
                         {(folder / "none.h5"), "`mylos prepare`"}));
}

}  // namespace mylos::stamp_test
