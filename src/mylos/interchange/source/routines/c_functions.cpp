// exp(x) - 1 for loops that compilers vectorise. Calls of the C library and comparisons of floats, which may
// raise exceptions, keep gcc from it: limits compare the bits.
//
// In float with the coefficients of Moshier's Cephes (netlib.org/cephes, expf.c), in double by the Taylor
// series. The activations follow from it without cancellation: tanh(x) = t / (t + 2) with t = e^(2x) - 1.
// Device code has a fast function already: the lines between $device(f) and $host, which the C++ dialect
// writes, call it.
#include "mylos/interchange/source/routines/c_routines.hpp"

namespace mylos {
namespace {

const SourceRoutine float_functions[] = {{"expm1_of",
                                          {},
                                          R"(
/* e^x - 1, of x in [-87, 87]; beyond, that of the end. Unlike a call of the C library, loops with it vectorise. */
$function float expm1_of(float x) {
$device(expm1)  unsigned bits;
  memcpy(&bits, &x, sizeof bits);
  const unsigned size = bits & 0x7fffffffu;
  bits = (size > 0x42ae0000u ? 0x42ae0000u : size) | (bits & 0x80000000u); /* 87 */
  float limited;
  memcpy(&limited, &bits, sizeof limited);
  const int n = (int)(limited * 1.44269504f + 128.5f) - 128; /* nearest integer */
  const float r = (limited - (float)n * 0.693359375f) + (float)n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  bits = size > 0x7f800000u ? size : ((unsigned)n + 127u) << 23; /* of NaN or 2^n */
  float power;
  memcpy(&power, &bits, sizeof power);
  return (p * r * r + r) * power + (power - 1);
$host})"
                                          "\n"}};

const SourceRoutine double_functions[] = {{"expm1_of",
                                           {},
                                           R"(
/* e^x - 1, of x in [-708, 708]; beyond, that of the end. Unlike a call of the C library, loops with it vectorise. */
$function double expm1_of(double x) {
$device(expm1)  unsigned long long bits;
  memcpy(&bits, &x, sizeof bits);
  const unsigned long long size = bits & 0x7fffffffffffffffu;
  bits = (size > 0x4086200000000000u ? 0x4086200000000000u : size) | (bits & 0x8000000000000000u); /* 708 */
  double limited;
  memcpy(&limited, &bits, sizeof limited);
  const int n = (int)(limited * 1.4426950408889634 + 1024.5) - 1024; /* nearest integer */
  const double r = (limited - n * 6.93145751953125e-1) - n * 1.42860682030941723212e-6;
  double p = 1 / 6227020800.0;
  p = p * r + 1 / 479001600.0;
  p = p * r + 1 / 39916800.0;
  p = p * r + 1 / 3628800.0;
  p = p * r + 1 / 362880.0;
  p = p * r + 1 / 40320.0;
  p = p * r + 1 / 5040.0;
  p = p * r + 1 / 720.0;
  p = p * r + 1 / 120.0;
  p = p * r + 1 / 24.0;
  p = p * r + 1 / 6.0;
  p = p * r + 0.5;
  bits = size > 0x7ff0000000000000u ? size : (unsigned long long)(n + 1023) << 52; /* of NaN or 2^n */
  double power;
  memcpy(&power, &bits, sizeof power);
  return (p * r * r + r) * power + (power - 1);
$host})"
                                           "\n"}};

}  // namespace

std::span<const SourceRoutine> c_functions(bool is_double) {
  return is_double ? std::span<const SourceRoutine>(double_functions)
                   : std::span<const SourceRoutine>(float_functions);
}

}  // namespace mylos
