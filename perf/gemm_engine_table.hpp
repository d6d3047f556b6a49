// gemm_bench --table: measures the lines of src/mylos/kernels/gemm/tiles/gemm_table.cpp on this machine.
#pragma once

#include <string>

namespace mylos {

/// For each target that this machine has, by a process of its own (oneDNN's limit stands for a process):
/// prints the target's lines, and how well kernels.gemm = "auto" and "measure" choose. Returns an exit code.
int print_gemm_table(const char* program);

/// The same for one: the name of instructions, or "matrix-unit" for all that the machine has.
void print_lines_of(const std::string& target);

}  // namespace mylos
