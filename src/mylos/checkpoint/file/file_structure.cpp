#include "mylos/checkpoint/file/file_structure.hpp"

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/checkpoint/file/stored_bytes.hpp"
#include "mylos/checkpoint/file/user_block.hpp"

namespace mylos {
namespace {

/// Creates all structure, with space for every attribute, and reserves the disk space.
OpenFile create_structure(const std::string& path, const CheckpointHeader& header,
                          const CheckpointState& state) {
  OpenFile open{hdf5::File::create(path, {.user_block = user_block_bytes}), {}, {}};
  open.file.write_attribute("/", "format", format_of(header.kind).name);
  open.file.write_attribute("/", "version", format_of(header.kind).version);
  open.file.write_attribute("/", "step", header.step);
  open.file.write_attribute("/", "created", header.created);
  open.file.write_attribute("/", "code_version", header.code_version);
  open.file.write_attribute("/", "world_size", header.world_size);
  for (const StateArray& array : state.arrays) {
    const hdf5::Dataset dataset = open.file.create_dataset(array.path, array.type, array.dims);
    open.array_offsets.push_back(array.size() == 0 ? 0 : dataset.file_offset());
    open.file.write_attribute(array.path, crc_attribute, std::int64_t{0});
    flush_some(open.file, open.array_offsets.size());
  }
  for (const StateText& text : state.texts) {
    open.texts.push_back(open.file.create_text(text.path, bytes_in_file(text)));
    open.file.write_attribute(text.path, crc_attribute, static_cast<std::int64_t>(crc_of_text(text.text)));
  }
  open.file.reserve();
  return open;
}

}  // namespace

std::int64_t bytes_in_file(const StateText& text) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(text.text.size()));
}

void require_writable(const CheckpointState& state) {
  for (const StateText& text : state.texts) {
    if (text.text.ends_with('\0'))
      fail_run(errors::internal, "{}: a text that ends in zeros cannot be stored", text.path);
  }
}

OpenFile begin_file(const std::string& path, const CheckpointHeader& header, const CheckpointState& state) {
  OpenFile open = create_structure(path, header, state);
  for (std::size_t i = 0; i < state.texts.size(); ++i) open.texts[i].write_text(state.texts[i].text);
  return open;
}

void flush_some(hdf5::File& file, std::size_t done) {
  constexpr std::size_t max_unwritten = 512;  // about 3 MB; a flush waits for the disk
  if (done % max_unwritten == 0) file.flush();
}

void end_file(OpenFile& open) {
  open.file.flush();
  open.texts.clear();
  open.file.close();
}

}  // namespace mylos
