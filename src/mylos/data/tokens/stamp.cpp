#include "mylos/data/tokens/stamp.hpp"

#include <filesystem>
#include <functional>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/data/files/dataset.hpp"
#include "mylos/data/files/dataset_summary.hpp"
#include "mylos/data/tokens/token_dataset.hpp"
#include "mylos/io/files/atomic_publish.hpp"

namespace mylos {
namespace {

/// Calls `write` on a copy and `read_back` with its name; then the copy replaces the file.
void replace_by_edited_copy(const std::string& path, const std::function<void(hdf5::File&)>& write,
                            const std::function<void(const std::string& written)>& read_back) {
  namespace fs = std::filesystem;
  std::error_code failure;
  const fs::path file = fs::canonical(path, failure);  // a symbolic link is kept
  PendingFile pending(failure ? path : file.string());
  fs::copy_file(path, pending.temporary(), fs::copy_options::overwrite_existing, failure);
  if (failure)
    fail_run(errors::cannot_write, "{}: cannot be copied from {}: {}", pending.temporary(), path,
             failure.message());
  hdf5::File copy = hdf5::File::edit(pending.temporary());
  if (copy.exists("/digests")) copy.remove("/digests");
  write(copy);
  copy.close();
  read_back(pending.temporary());
  pending.publish();
}

void write_format(hdf5::File& file, std::string_view format, std::int64_t version) {
  file.write_attribute("/", "format", format);
  file.write_attribute("/", "version", version);
}

void stamp_samples(const std::string& path) {
  const Dataset dataset(path, GroundTruth::optional, Digests::ignored);
  const std::vector<std::int64_t>& grid = dataset.grid();
  DatasetSummary summary(dataset.shape(), grid.empty() ? 0 : grid.back());
  dataset.read_all([&](const std::byte* stored, std::int64_t count) { summary.add_inputs(stored, count); },
                   [&](const std::byte* stored, std::int64_t count) { summary.add_truth(stored, count); });
  const auto write = [&](hdf5::File& file) {
    if (file.exists("/statistics")) file.remove("/statistics");
    summary.create(file);
    summary.write(file, dataset.outputs());
    write_format(file, dataset_format, dataset_version);
  };
  replace_by_edited_copy(path, write, [](const std::string& written) {
    Dataset(written, GroundTruth::optional)
        .read_all([](const std::byte*, std::int64_t) {}, [](const std::byte*, std::int64_t) {});
  });
}

void stamp_tokens(const std::string& path) {
  const TokenDataset dataset(path, Digests::ignored);
  const std::int64_t bytes = token_bytes(dataset.type());
  BlockDigests digests(rows_per_digest(bytes), bytes);
  TokenIdentity identity;
  dataset.read_all([&](const std::byte* stored, std::int64_t count) {
    digests.add(stored, count);
    identity.add(stored, count * bytes);
  });
  const auto write = [&](hdf5::File& file) {
    digests.create(file, "/tokens", dataset.tokens());
    digests.write(file, "/tokens");
    if (dataset.vocabulary().kind() == TokenKind::characters) {
      write_text_digest(file, "/vocabulary", dataset.vocabulary().text());
    }
    file.write_attribute("/", "identity", identity.finish(dataset.type(), dataset.vocabulary()));
    write_format(file, token_format, token_version);
  };
  replace_by_edited_copy(path, write, [](const std::string& written) {
    TokenDataset(written).read_all([](const std::byte*, std::int64_t) {});
  });
}

}  // namespace

void stamp(const std::string& path) {
  if (holds_tokens(path)) return stamp_tokens(path);
  stamp_samples(path);
}

}  // namespace mylos
