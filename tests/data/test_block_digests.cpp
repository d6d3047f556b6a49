#include "mylos/data/files/block_digests.hpp"

#include <gtest/gtest.h>

#include "data/digest_builders.hpp"

namespace mylos::block_digests_test {

using namespace testing_support;

/// The rule of docs/how-to/data.md, applied by Python to every dataset: "inputs 11" if 11 blocks are correct.
const std::string check_all =
    "import sys, zlib, h5py\n"
    "def check(name, digests):\n"
    "    if not isinstance(digests, h5py.Dataset): return\n"
    "    data, rows = file[name], digests.attrs['rows']\n"
    "    blocks = [data[()]] if data.shape == () else \\\n"
    "        [data[i:i + rows].tobytes() for i in range(0, len(data), rows)]\n"
    "    assert [zlib.crc32(block) for block in blocks] == list(digests), name\n"
    "    print(name, len(blocks))\n"
    "with h5py.File(path) as file: file['digests'].visititems(check)\n";

TEST(BlockDigests, PythonFindsThemByTheRuleOfTheManual) {
  const TemporaryFolder folder;
  const auto checked = [](const std::string& path) { return python("path = '" + path + "'\n" + check_all); };
  EXPECT_EQ(checked(prepared_images(folder / "images.h5")),
            "inputs 11\nlabels 11\n"
            "statistics/inputs/max 1\nstatistics/inputs/mean 1\n"
            "statistics/inputs/min 1\nstatistics/inputs/std 1\n");
  EXPECT_EQ(checked(prepared_characters(folder / "text.h5")), "tokens 2\nvocabulary 1\n");
}

TEST(BlockDigests, RowsMayBeGivenInPiecesOfAnySize) {
  const std::string rows = random_bytes(10'000);
  const auto digests = [&](std::int64_t piece, const std::string& name) {
    const TemporaryFolder folder;
    auto file = hdf5::File::create(folder / name);
    BlockDigests blocks(30, 10);
    blocks.create(file, "/x", 1000);
    for (std::int64_t first = 0; first < 1000; first += piece)
      blocks.add(rows.data() + 10 * first, std::min(piece, 1000 - first));
    blocks.write(file, "/x");
    std::vector<std::uint32_t> written(34);
    file.dataset("/digests/x").read(0, 34, written.data());
    return written;
  };
  const auto whole = digests(1000, "whole.h5");
  for (const std::int64_t piece : {1, 7, 30, 31, 999}) EXPECT_EQ(digests(piece, "pieces.h5"), whole) << piece;
}

TEST(BlockDigests, AreOfAbout64KiB) {
  EXPECT_EQ(rows_per_digest(1), 65536);
  EXPECT_EQ(rows_per_digest(784), 83);
  EXPECT_EQ(rows_per_digest(1 << 20), 1);
}

}  // namespace mylos::block_digests_test
