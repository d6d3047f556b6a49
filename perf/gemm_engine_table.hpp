// gemm_bench --table: measures the lines of src/mylos/kernels/gemm/tiles/gemm_table.cpp on this machine.
#pragma once

#include <string>

namespace mylos {

/// For each target of this machine, in a separate process (oneDNN's limit applies to a process):
/// prints the target's lines, and how well kernels.gemm = "auto" and "measure" choose. Returns an exit code.
int print_gemm_table(const char* program);

/// The same for one target: the name of instructions, or "matrix-unit" for all instructions of the machine.
void print_lines_of(const std::string& target);

}  // namespace mylos
