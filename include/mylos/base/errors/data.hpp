// Error ids of data. docs/reference/errors.md explains each.
#pragma once

#include "mylos/base/error_id.hpp"

namespace mylos::errors {

/// A row of a table is not like the others, or a cell is not a number.
inline constexpr ErrorId bad_row{"bad-row"};
/// A label is not a number in the range of the classes.
inline constexpr ErrorId bad_label{"bad-label"};
/// An image cannot be decoded, or its size or channels differ from the others'.
inline constexpr ErrorId bad_image{"bad-image"};
/// A text is not UTF-8.
inline constexpr ErrorId bad_encoding{"bad-encoding"};
/// Names of columns, classes or targets are missing, too many, repeated or different from those of the other
/// file.
inline constexpr ErrorId bad_names{"bad-names"};
/// A number is NaN or infinite, or too large for the type that holds it.
inline constexpr ErrorId not_finite{"not-finite"};
/// The table has no such column.
inline constexpr ErrorId unknown_column{"unknown-column"};
/// A character or token is not in the vocabulary.
inline constexpr ErrorId unknown_token{"unknown-token"};

}  // namespace mylos::errors
