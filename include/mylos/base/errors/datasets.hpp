// Error ids of datasets, tensors and attributes in files. docs/reference/errors.md explains each.
#pragma once

#include "mylos/base/error_id.hpp"

namespace mylos::errors {

/// The file lacks a dataset, tensor, group or attribute that is needed.
inline constexpr ErrorId missing_dataset{"missing-dataset"};
/// A dataset, tensor or attribute has another type, shape or value than is needed, or excludes another.
inline constexpr ErrorId bad_dataset{"bad-dataset"};
/// The file uses a feature of its format that Mylos does not read: a filter, an external file, a type.
inline constexpr ErrorId unsupported_feature{"unsupported-feature"};
/// The contents, or a size that is stated, are beyond a limit.
inline constexpr ErrorId too_large{"too-large"};

}  // namespace mylos::errors
