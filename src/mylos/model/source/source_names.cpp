#include "mylos/model/source/source_names.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mylos {
namespace {

constexpr std::size_t max_name = 40;   // Fortran ends at 63 characters, and functions add "_evaluate_block"
constexpr std::size_t max_layer = 32;  // of a layer's name in that of a constant

bool is_latin_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_decimal(char c) {
  return c >= '0' && c <= '9';
}

/// Keywords of C (to C23) and C++ (to C++23), functions of <math.h> and <string.h>, whose names a namespace
/// cannot have, and the words of Fortran's statements, in lower case.
constexpr std::string_view keywords =
    " abs abstract acos acosh alignas alignof allocatable allocate and and_eq asin asinh asm assign"
    " associate asynchronous atan atan2 atanh auto backspace bcopy bitand bitor block bool break bzero"
    " call case catch cbrt ceil char char16_t char32_t char8_t character class close co_await co_return"
    " co_yield codimension common compl complex concept concurrent const const_cast consteval constexpr"
    " constinit contains contiguous continue copysign cos cosh critical cycle data deallocate decltype"
    " default deferred delete dimension do double drem dynamic_cast elemental else elseif elsewhere end"
    " enddo endif entry enum enumerator equivalence erf erfc exit exp exp2 explicit expm1 export extends"
    " extern external fabs false fdim ffs final finite float floor flush fma fmax fmin fmod for forall"
    " format frexp friend function gamma generic goto hypot if ilogb implicit import impure include index"
    " inline inquire int integer intent interface intrinsic isinf isnan iso_fortran_env j0 j1 jn kind"
    " kokkos ldexp len lgamma llrint llround log log10 log1p log2 logb logical long lrint lround main"
    " memchr memcmp memcpy memmove memset modf module mutable namelist namespace nan nearbyint new"
    " nextafter noexcept none nopass not not_eq null nullify nullptr only open operator optional or or_eq"
    " parameter pass pause pointer pow pow10 print private procedure program protected public pure read"
    " real recursive register reinterpret_cast remainder remquo requires restrict result return rewind"
    " rindex rint round save scalb scalbln scalbn select sequence short signed signgam significand sin"
    " sincos sinh sizeof sqrt static static_assert static_cast std stop strcat strchr strcmp strcpy strlen"
    " struct submodule subroutine switch tan tanh target template tgamma then this thread_local throw true"
    " trunc try type typedef typeid typename typeof union unsigned use using value virtual void volatile"
    " wait wchar_t where while write xor xor_eq y0 y1 yn"
    " ";

}  // namespace

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return lower;
}

bool is_source_name(std::string_view name) {
  if (name.empty() || name.size() > max_name || !is_latin_letter(name.front())) return false;
  const bool is_word = std::all_of(name.begin(), name.end(),
                                   [](char c) { return is_latin_letter(c) || is_decimal(c) || c == '_'; });
  return is_word && keywords.find(fmt::format(" {} ", lower_case(name))) == std::string_view::npos;
}

std::string SourceNames::add(std::string_view layer, std::string_view ending) {
  std::string base = lower_case(layer.substr(0, max_layer));
  for (char& c : base) {
    if (!is_latin_letter(c) && !is_decimal(c)) c = '_';
  }
  if (base.empty() || !is_latin_letter(base.front())) base = "layer_" + base;
  std::string name = fmt::format("{}_{}", base, ending);
  for (int number = 2; !taken_.insert(name).second; ++number)
    name = fmt::format("{}_{}_{}", base, number, ending);
  return name;
}

}  // namespace mylos
