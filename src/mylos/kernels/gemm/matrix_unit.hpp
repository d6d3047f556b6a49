// Detects a matrix unit for bfloat16 (AMX) in the processor and its operating system. The processor is
// queried, because a query to oneDNN would fix oneDNN's limit.
#pragma once

namespace mylos {

[[nodiscard]] bool processor_has_matrix_unit();

}  // namespace mylos
