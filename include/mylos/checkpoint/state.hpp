// The state of a run as a checkpoint sees it: named arrays, scalars and texts, wherever they are in memory.
//
// A path is a place in the file: "/model/hidden1/weight". A scalar is an array without dimensions. All ranks
// hold the same state, so that any rank may write any part of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mylos/base/dispatch.hpp"

namespace mylos {

/// An array that lies in memory row by row, and is written from there or read into it.
struct StateArray {
  std::string path;
  DType type = DType::fp32;
  std::vector<std::int64_t> dims;  // empty: a scalar
  void* data = nullptr;
  bool on_device = false;  // `data` is device memory (on host-only builds there is no difference)

  /// All elements.
  [[nodiscard]] std::int64_t size() const {
    std::int64_t elements = 1;
    for (const auto extent : dims) elements *= extent;
    return elements;
  }
  [[nodiscard]] std::int64_t bytes() const { return size() * static_cast<std::int64_t>(size_of(type)); }
};

struct StateText {
  std::string path;
  std::string text;
};

struct CheckpointState {
  std::vector<StateArray> arrays;  // in the order in which messages should name them
  std::vector<StateText> texts;

  template <class T>
  void add_host(const std::string& path, T* data, std::vector<std::int64_t> dims) {
    arrays.push_back({path, dtype_of<T>, std::move(dims), data, false});
  }
  template <class T>
  void add_scalar(const std::string& path, T& value) {
    add_host(path, &value, {});
  }
  template <class T>
  void add_device(const std::string& path, T* data, std::vector<std::int64_t> dims) {
    arrays.push_back({path, dtype_of<T>, std::move(dims), data, true});
  }
  void add_text(const std::string& path, std::string text) { texts.push_back({path, std::move(text)}); }
};

/// What the file says about itself, as attributes of "/" (the deck: as text /deck).
struct CheckpointHeader {
  std::int64_t step = 0;
  std::string code_version;
  std::string deck;             // resolved
  std::string created;          // set when written: "2026-11-21T09:30:00Z"
  std::int64_t world_size = 1;  // ranks of the run; set when all of them write
};

}  // namespace mylos
