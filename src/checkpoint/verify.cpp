#include "mylos/checkpoint/verify.hpp"

#include "mylos/base/error.hpp"
#include "mylos/base/text.hpp"
#include "mylos/io/hdf5.hpp"
#include "stored_bytes.hpp"
#include "user_block.hpp"

namespace mylos {
namespace {

// Deeper than any of ours: /optimizer/layer/parameter/moment.
constexpr int deepest = 16;

void verify_group(const hdf5::File& file, const std::string& group, int depth, VerifiedCheckpoint& sum) {
  if (depth > deepest)
    fail_input("{}: {} lies deeper than {} groups", file.path(), printable(group), deepest);
  for (const hdf5::Child& child : file.children(group.empty() ? "/" : group)) {
    const std::string path = group + "/" + child.name;
    switch (child.kind) {
      case hdf5::ObjectKind::group:
        verify_group(file, path, depth + 1, sum);
        break;
      case hdf5::ObjectKind::dataset: {
        const hdf5::Dataset dataset = file.dataset(path);
        require_crc(file, path, crc_of(dataset));
        sum.datasets += 1;
        sum.bytes += dataset.is_text() ? 0 : dataset.size() * element_bytes(*dataset.type());
        break;
      }
      case hdf5::ObjectKind::other:
        fail_input("{}: {} is neither a group nor a dataset", file.path(), printable(path));
    }
  }
}

}  // namespace

VerifiedCheckpoint verify_contents(const std::string& path) {
  verify_user_block(path);
  const hdf5::File file = hdf5::File::open(path);
  if (file.text_attribute("/", "format") != checkpoint_format) {
    fail_input("{}: the attribute format of / is not \"{}\"", path, checkpoint_format);
  }
  VerifiedCheckpoint sum;
  sum.step = file.integer_attribute("/", "step");
  verify_group(file, "", 0, sum);
  return sum;
}

}  // namespace mylos
