#include "mylos/checkpoint/file/reader.hpp"

#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <set>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/checkpoint/file/stored_bytes.hpp"
#include "mylos/checkpoint/file/user_block.hpp"
#include "mylos/checkpoint/file/walk.hpp"
#include "mylos/comm/ranks/collective_error.hpp"

namespace mylos {
namespace {

/// Returns the kind of the file, which rank 0 verifies.
FileKind verified_kind(RankGroup& ranks, const std::string& path, ReadableKinds kinds) {
  FileKind kind = FileKind::checkpoint;
  run_on_first(ranks, [&] { kind = verify_user_block(path, kinds); });
  ranks.broadcast(&kind, sizeof kind, 0);
  return kind;
}

hdf5::File open_verified(RankGroup& ranks, const std::string& path) {
  std::optional<hdf5::File> file;
  run_on_all(ranks, [&] {
    // The first rank has just verified the file. If it cannot be opened here, the cause is this rank's view
    // of the file system.
    if (::access(path.c_str(), R_OK) != 0)
      fail_run(errors::cannot_read, "{}: cannot be opened: {}", path, std::strerror(errno));
    file = hdf5::File::open(path);
  });
  return *file;
}

CheckpointHeader read_header(const hdf5::File& file, FileKind kind) {
  const FileFormat format = format_of(kind);
  if (file.text_attribute("/", "format") != format.name)
    fail_input(errors::wrong_format, "{}: is not a Mylos {}", file.path(),
               kind == FileKind::model ? "model file" : "checkpoint");
  if (const auto version = file.integer_attribute("/", "version"); version != format.version) {
    fail_input(errors::unknown_version, "{}: has format version {}, this program reads {}", file.path(),
               version, format.version);
  }
  CheckpointHeader header;
  header.kind = kind;
  header.step = file.integer_attribute("/", "step");
  header.code_version = file.text_attribute("/", "code_version");
  header.created = file.text_attribute("/", "created");
  header.world_size = file.integer_attribute("/", "world_size");
  header.deck = file.dataset("/deck").read_text();
  return header;
}

std::string shape_text(const std::vector<std::int64_t>& dims) {
  return dims.empty() ? "a scalar" : fmt::format("[{}]", fmt::join(dims, ", "));
}

/// Returns the part of the run that needs an array, for messages.
const char* owner_of(const std::string& path) {
  return path.starts_with("/model/") ? "the deck's model" : "this run";
}

ErrorId mismatch_at(const std::string& path) {
  return path.starts_with("/model/") ? errors::model_mismatch : errors::restart_mismatch;
}

/// Returns whether the path belongs to the history. Its tables are read individually: a file may have more of
/// them than a reader needs.
bool is_of_history(const std::string& path) {
  return path == "/history" || path.starts_with("/history/");
}

/// Returns the group that is compared completely: a top-level group, or a table of the history.
std::string group_of(const std::string& path) {
  return path.substr(0, is_of_history(path) ? path.rfind('/') : path.find('/', 1));
}

/// Throws Error unless the dataset's numbers can be read into the array's memory with one rounding at most.
void require_type(const hdf5::File& file, const hdf5::Dataset& dataset, const StateArray& array,
                  FileKind kind) {
  if (dataset.type() == array.type) return;
  const bool is_narrow = dataset.type() == DType::fp16 || dataset.type() == DType::bf16;
  const bool is_weight = array.type == DType::fp32 && array.path.starts_with("/model/");
  if (kind != FileKind::model || !is_narrow || !is_weight) {
    fail_input(mismatch_at(array.path), "{}: {} holds {}, {} needs {}", file.path(), array.path,
               dataset.type_name(), owner_of(array.path), hdf5::name_in_files(array.type));
  }
  if (!array.memory_type || array.memory_type == dataset.type()) return;
  fail_input(errors::model_mismatch,
             "{}: {} holds {}, which the layer would round a second time, to {}; export the run with --type "
             "{} or fp32",
             file.path(), array.path, dataset.type_name(), hdf5::name_in_files(*array.memory_type),
             name_of(*array.memory_type));
}

void require_array(const hdf5::File& file, const StateArray& array, FileKind kind) {
  const char* owner = owner_of(array.path);
  const ErrorId mismatch = mismatch_at(array.path);
  if (!file.exists(array.path)) {
    fail_input(mismatch, "{}: has no {}, which {} needs as {}", file.path(), array.path, owner,
               shape_text(array.dims));
  }
  const hdf5::Dataset dataset = file.dataset(array.path);
  if (dataset.dims() != array.dims) {
    fail_input(mismatch, "{}: {} is {}, {} needs {}", file.path(), array.path, shape_text(dataset.dims()),
               owner, shape_text(array.dims));
  }
  require_type(file, dataset, array, kind);
}

/// Throws Error if the file has more than the state in a group of which the state has a member.
void require_no_extra_objects(const hdf5::File& file, const CheckpointState& state) {
  std::set<std::string> known;
  std::set<std::string> groups;
  const auto add = [&](const std::string& path) {
    known.insert(path);
    if (path.find('/', 1) != std::string::npos) groups.insert(group_of(path));
  };
  for (const StateArray& array : state.arrays) add(array.path);
  for (const StateText& text : state.texts) add(text.path);
  for (const std::string& group : groups) {
    if (!file.exists(group)) continue;  // required objects have been checked before
    walk(
        file, group,
        [&](const std::string& path, hdf5::ObjectKind) {
          if (known.count(path) > 0) return;
          fail_input(mismatch_at(path), "{}: has {}, which {} does not have", file.path(), printable(path),
                     owner_of(path));
        },
        [](const std::string& path) { return !is_of_history(path); });
  }
}

}  // namespace

CheckpointReader::CheckpointReader(RankGroup& ranks, const std::string& path, ReadableKinds kinds)
    : ranks_(ranks),
      path_(path),
      kind_(verified_kind(ranks, path, kinds)),
      file_(open_verified(ranks, path)) {
  run_on_all(ranks, [&] { header_ = read_header(file_, kind_); });
}

bool CheckpointReader::exists(const std::string& array_or_group) const {
  return file_.exists(array_or_group);
}

std::vector<std::int64_t> CheckpointReader::dims(const std::string& array) const {
  return file_.dataset(array).dims();
}

std::int64_t CheckpointReader::length(const std::string& array) const {
  const std::vector<std::int64_t> found = dims(array);
  if (found.size() != 1)
    fail_input(errors::bad_dataset, "{}: {} is {}, expected one dimension", path_, array, shape_text(found));
  return found.front();
}

std::string CheckpointReader::text(const std::string& path) const {
  const std::string text = file_.dataset(path).read_text();
  require_crc(file_, path, crc_of_text(text));
  return text;
}

bool CheckpointReader::is_missing(const StateArray& array) const {
  return array.may_be_missing && !file_.exists(array.path);
}

void CheckpointReader::require_match(const CheckpointState& state) const {
  run_on_all(ranks_, [&] { require_match_here(state); });
}

void CheckpointReader::require_match_here(const CheckpointState& state) const {
  for (const StateArray& array : state.arrays) {
    if (!is_missing(array)) require_array(file_, array, kind_);
  }
  for (const StateText& text : state.texts) {
    if (!file_.exists(text.path)) fail_input(errors::missing_dataset, "{}: has no {}", path_, text.path);
  }
  require_no_extra_objects(file_, state);
}

void CheckpointReader::read(CheckpointState& state) const {
  run_on_all(ranks_, [&] {
    require_match_here(state);
    for (const StateArray& array : state.arrays) {
      if (is_missing(array)) continue;
      require_crc(file_, array.path, read_elements(file_.dataset(array.path), array));
    }
    for (StateText& entry : state.texts) entry.text = text(entry.path);
  });
}

}  // namespace mylos
