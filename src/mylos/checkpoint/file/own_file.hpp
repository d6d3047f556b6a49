// Failures of a file while this program writes it.
#pragma once

#include <utility>

#include "mylos/base/error.hpp"

namespace mylos {

/// Returns work(), which writes a file of ours and reads it again. What readers call bad input is no fault of
/// the user's here (somebody deleted the folder, say): it is thrown as ExitCode::failed.
template <class Work>
decltype(auto) on_own_file(Work&& work) {
  try {
    return std::forward<Work>(work)();
  } catch (const Error& error) {
    throw Error(ExitCode::failed, error.what());
  }
}

}  // namespace mylos
