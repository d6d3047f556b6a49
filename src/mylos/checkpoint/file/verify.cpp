#include "mylos/checkpoint/file/verify.hpp"

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/checkpoint/file/stored_bytes.hpp"
#include "mylos/checkpoint/file/user_block.hpp"
#include "mylos/checkpoint/file/walk.hpp"
#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos {

VerifiedCheckpoint verify_contents(const std::string& path) {
  const FileFormat format = format_of(verify_user_block(path, ReadableKinds::all));
  const hdf5::File file = hdf5::File::open(path);
  if (file.text_attribute("/", "format") != format.name) {
    fail_input(errors::damaged, "{}: the attribute format of / is not \"{}\"", path, format.name);
  }
  VerifiedCheckpoint sum;
  sum.step = file.integer_attribute("/", "step");
  walk(file, "", [&](const std::string& dataset_path, hdf5::ObjectKind kind) {
    if (kind != hdf5::ObjectKind::dataset)
      fail_input(errors::bad_dataset, "{}: {} is neither a group nor a dataset", path,
                 printable(dataset_path));
    const hdf5::Dataset dataset = file.dataset(dataset_path);
    require_crc(file, dataset_path, crc_of(dataset));
    sum.datasets += 1;
    sum.bytes += dataset.is_text() ? 0 : dataset.size() * element_bytes(*dataset.type());
  });
  return sum;
}

}  // namespace mylos
