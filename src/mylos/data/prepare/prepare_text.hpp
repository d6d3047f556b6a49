// `mylos prepare text FILE --level characters|bytes --out FILE`: converts a text to a token file.
//
// characters: one token per Unicode code point of a UTF-8 text. The vocabulary is the set of code points of
// the text, sorted, or that of an existing token file, so that a test text's numbers mean the same as the
// training text's. A byte order mark before the text is skipped. bytes: one token per byte of any file, with
// a vocabulary of 256.
#pragma once

#include <string>

#include "mylos/data/files/meaning/vocabulary.hpp"

namespace mylos {

struct PrepareText {
  std::string file;
  TokenKind level = TokenKind::characters;  // or bytes
  std::string out;                          // the token file to make
  std::string vocabulary = {};  // characters: "" = the text's own, or a token file that defines it
};

/// Throws Error: bad_input for errors in the file (bad UTF-8, a character that is not in the vocabulary, with
/// its offset), failed if `out` cannot be written. Holds one piece of the file at a time in memory.
void prepare(const PrepareText& job);

}  // namespace mylos
