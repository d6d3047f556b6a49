#include "mylos/checkpoint/file/stored_datasets.hpp"

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/checkpoint/file/user_block.hpp"
#include "mylos/io/files/raw_file.hpp"

namespace mylos {

std::string verify_stored(const std::string& path, const std::vector<StoredDataset>& stored) {
  std::vector<ByteRange> ranges;
  for (const StoredDataset& dataset : stored) ranges.push_back(dataset.range);
  PieceDigest contents(user_block_bytes, ranges);
  RawFile(path, RawFile::Access::read, RawFile::Cache::bypass)
      .read(user_block_bytes,
            [&](const std::byte* data, std::int64_t bytes) { contents.update(data, bytes); });
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const std::uint32_t found = contents.range_crcs()[i];
    if (found == stored[i].crc) continue;
    fail_run(errors::damaged,
             "{}: {} came back from the disk with the CRC-32 {:08x}, {:08x} was written: the disk or its "
             "driver is "
             "faulty, and the file is not used; write checkpoints to another file system",
             path, stored[i].path, found, stored[i].crc);
  }
  return contents.finish();
}

}  // namespace mylos
