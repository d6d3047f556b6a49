// `mylos prepare text FILE --level characters|bytes --out FILE`: a text to a token file.
//
// characters: one token per Unicode code point of a UTF-8 text; the vocabulary is those that the text has,
// sorted by code point, or that of a token file that is there: a test text's numbers then mean what the
// training text's do. A byte order mark before the text is left out. bytes: one token per byte of any file, a
// vocabulary of 256.
#pragma once

#include <string>

#include "mylos/data/files/vocabulary.hpp"

namespace mylos {

struct PrepareText {
  std::string file;
  TokenKind level = TokenKind::characters;  // or bytes
  std::string out;                          // the token file to make
  std::string vocabulary = {};              // characters: "" = the text's own, or a token file that has them
};

/// Throws Error: bad_input for what is wrong with the file (bad UTF-8, a character that the vocabulary lacks,
/// with its offset), failed when `out` cannot be written. Holds a piece of the file at a time, never all of
/// it.
void prepare(const PrepareText& job);

}  // namespace mylos
