// The state of a run in a checkpoint: named arrays, scalars and texts, with their addresses in memory.
//
// A path is an object in the file: "/model/hidden1/weight". A scalar is an array without dimensions. Unless
// an array is sharded, all ranks hold the same values, so that any rank may write any part of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mylos/base/tensor.hpp"
#include "mylos/checkpoint/file/file_kind.hpp"

namespace mylos {

/// Elements [first, first + count) of an array in row-major order, contiguous in memory.
struct StatePiece {
  std::int64_t first = 0;
  std::int64_t count = 0;
  void* data = nullptr;
};

/// An array to be written from memory or read into it.
struct StateArray {
  std::string path;
  DType type = DType::fp32;
  std::vector<std::int64_t> dims;  // of the whole array; empty: a scalar
  std::vector<StatePiece> pieces;  // this rank's pieces, in ascending order
  bool on_device = false;          // the pieces are in device memory (no difference on host-only builds)
  bool sharded = false;            // the ranks hold disjoint pieces; else each rank holds all
  bool may_be_missing = false;     // in files of earlier builds: memory then keeps its values
  // fp16 or bf16: the type in memory of values that are floats in a checkpoint. They are widened when
  // written, and rounded to nearest when read. None: memory and checkpoint have the same type. A model file
  // may hold floats of /model in 16 bits: they are read unchanged into that type, and widened into fp32.
  std::optional<DType> memory_type = std::nullopt;

  /// Returns the number of elements.
  [[nodiscard]] std::int64_t size() const {
    std::int64_t elements = 1;
    for (const auto extent : dims) elements *= extent;
    return elements;
  }
  /// Returns the bytes in the file.
  [[nodiscard]] std::int64_t bytes() const { return bytes_of(size()); }
  [[nodiscard]] std::int64_t bytes_of(std::int64_t elements) const {
    return elements * static_cast<std::int64_t>(size_of(type));
  }
  [[nodiscard]] std::int64_t memory_bytes_of(std::int64_t elements) const {
    return elements * static_cast<std::int64_t>(size_of(memory_type.value_or(type)));
  }
};

struct StateText {
  std::string path;
  std::string text;
};

struct CheckpointState {
  std::vector<StateArray> arrays;  // in the order in which messages should name them
  std::vector<StateText> texts;
  std::vector<StateArray> derived;  // arrays derived from `arrays`: not in the file, but equal on all ranks

  template <class T>
  void add_host(const std::string& path, T* data, std::vector<std::int64_t> dims) {
    add_whole(path, dtype_of<T>, std::move(dims), data, false);
  }
  template <class T>
  void add_scalar(const std::string& path, T& value) {
    add_host(path, &value, {});
  }
  /// Marks the last added array as one that earlier builds did not write.
  void let_last_be_missing() { arrays.back().may_be_missing = true; }
  template <class T>
  void add_device(const std::string& path, T* data, std::vector<std::int64_t> dims) {
    add_whole(path, dtype_of<T>, std::move(dims), data, true);
  }
  /// Adds an array that is float in the file: this rank's `values` are its elements from `first` on, possibly
  /// none, in device memory as fp32, fp16 or bf16. `sharded`: the array is sharded over ranks; otherwise
  /// `values` are all elements.
  void add_weights(const std::string& path, std::int64_t first, const Tensor& values,
                   std::vector<std::int64_t> dims, bool sharded) {
    StateArray array{path, DType::fp32, std::move(dims), {}, true, sharded};
    const std::int64_t count = sharded ? values.size() : array.size();
    if (count > 0 || !sharded) array.pieces.push_back({first, count, values.data()});
    if (values.type() != DType::fp32) array.memory_type = values.type();
    arrays.push_back(std::move(array));
  }
  void add_text(const std::string& path, std::string text) { texts.push_back({path, std::move(text)}); }

 private:
  void add_whole(const std::string& path, DType type, std::vector<std::int64_t> dims, void* data,
                 bool on_device) {
    StateArray array{path, type, std::move(dims), {}, on_device};
    array.pieces.push_back({0, array.size(), data});
    arrays.push_back(std::move(array));
  }
};

/// The attributes of "/" (and the deck: text /deck).
struct CheckpointHeader {
  FileKind kind = FileKind::checkpoint;
  std::int64_t step = 0;
  std::string code_version;
  std::string deck;             // resolved
  std::string created;          // set at writing: "2026-11-21T09:30:00Z"
  std::int64_t world_size = 1;  // ranks of the run; set if all of them write
  std::int64_t best_step = -1;  // not in the file: the step that `best` then names; -1: unchanged
};

}  // namespace mylos
