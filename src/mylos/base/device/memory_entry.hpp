// MemoryEntry: the bytes that a part of a run allocates on a rank, under the name that memory plans print.
//
// Each part (weights, readers, evaluations, …) has a function next to the code that allocates. It returns the
// part's entries from sizes and options, the same names for all options: what a run does not need has 0
// bytes. Entries of one name are added up.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace mylos {

struct MemoryEntry {
  std::string name;
  std::size_t bytes = 0;
  bool with_network = true;  // in the network's memory; on host-only builds there is no other

  bool operator==(const MemoryEntry&) const = default;
};

/// The entries of one part, in the order in which plans print them.
using PartMemory = std::vector<MemoryEntry>;

}  // namespace mylos
