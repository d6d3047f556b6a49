#include "mylos/interchange/source/routines/weight_loader.hpp"

#include "mylos/interchange/source/source_text.hpp"

namespace mylos {
namespace {

constexpr const char* c_loader = R"(
$static unsigned crc32_of(const unsigned char *bytes, $size_t count) {
  const unsigned of_nibble[16] = {0x00000000u, 0x1db71064u, 0x3b6e20c8u, 0x26d930acu, 0x76dc4190u, 0x6b6b51f4u,
                                  0x4db26158u, 0x5005713cu, 0xedb88320u, 0xf00f9344u, 0xd6d6a3e8u, 0xcb61b38cu,
                                  0x9b64c2b0u, 0x86d3d2d4u, 0xa00ae278u, 0xbdbdf21cu};
  unsigned crc = 0xffffffffu;
  for ($size_t i = 0; i < count; ++i) {
    crc ^= bytes[i];
    crc = of_nibble[crc & 15u] ^ (crc >> 4);
    crc = of_nibble[crc & 15u] ^ (crc >> 4);
  }
  return ~crc;
}

$signature {
  $FILE *file = $fopen(path, "rb");
  if (!file) return 1;
  unsigned char head[32];
  unsigned order, size, crc;
  unsigned long long count;
  int code = 0;
  if ($fread(head, 1, sizeof head, file) != sizeof head || $memcmp(head, "MYLOSNET", 8) != 0) {
    code = 2;
  } else {
    $memcpy(&order, head + 8, 4);
    $memcpy(&size, head + 12, 4);
    $memcpy(&count, head + 16, 8);
    $memcpy(&crc, head + 24, 4);
    if (order != 0x01020304u || size != sizeof(real) || count != $countu || crc != $crcu) {
      code = 3;
    } else if ($fread(weights, sizeof(real), $count, file) != $count || $fgetc(file) != EOF ||
               crc32_of((const unsigned char *)weights, $count * sizeof(real)) != $crcu) {
      code = 4;
    }
  }
  $fclose(file);
  return code;
}
)";

constexpr const char* fortran_loader = R"(
  ! Reads the weights that the other subroutines take, once. status: 0, or 1 the file cannot be read, 2 it is no
  ! file of weights, 3 it has those of another network, type or order of bytes, 4 it is damaged.
  subroutine NAME_load(path, weights, status)
    character(len=*), intent(in) :: path
    real(rk), intent(out) :: weights(NAME_weights)
    integer, intent(out) :: status
    character(len=8) :: magic
    character(len=1) :: beyond
    integer(int32) :: order, bytes, crc, reserved
    integer(int64) :: count
    integer :: unit, error
    status = 1
    open (newunit=unit, file=path, access="stream", form="unformatted", status="old", action="read", &
      iostat=error)
    if (error /= 0) return
    status = 2
    read (unit, iostat=error) magic, order, bytes, count, crc, reserved
    if (error == 0 .and. magic == "MYLOSNET") then
      status = 3
      if (order == 16909060 .and. bytes == storage_size(1.0_rk) / 8 .and. count == NAME_weights &
        .and. iand(int(crc, int64), 4294967295_int64) == CRC_int64) then
        status = 4
        read (unit, iostat=error) weights
        if (error == 0) then
          read (unit, iostat=error) beyond
          if (error /= 0 .and. crc32_of(weights) == CRC_int64) status = 0
        end if
      end if
    end if
    close (unit)
  end subroutine NAME_load

  pure function crc32_of(numbers) result(crc)
    real(rk), intent(in) :: numbers(:)
    integer(int64) :: crc, bits
    integer(int64), parameter :: of_nibble(0:15) = [ &
      0_int64, 498536548_int64, 997073096_int64, 651767980_int64, 1994146192_int64, 1802195444_int64, &
      1303535960_int64, 1342533948_int64, 3988292384_int64, 4027552580_int64, 3604390888_int64, &
      3412177804_int64, 2607071920_int64, 2262029012_int64, 2685067896_int64, 3183342108_int64]
    integer :: i, k
    crc = 4294967295_int64
    do i = 1, size(numbers)
      bits = transfer(numbers(i), 0_BITS)
      do k = 1, storage_size(1.0_rk) / 4
        crc = ieor(of_nibble(iand(ieor(crc, bits), 15_int64)), ishft(crc, -4))
        bits = ishft(bits, -4)
      end do
    end do
    crc = ieor(crc, 4294967295_int64)
  end function crc32_of
)";

}  // namespace

std::string c_weight_loader(bool is_cpp) {
  std::string text = c_loader;
  replace_all(text, "$static", is_cpp ? "inline" : "static");
  replace_all(text, "$signature",
              is_cpp ? "inline int load_weights(const char *path, real *weights)"
                     : "int $name_load(const char *path, $type *weights)");
  for (const char* function : {"FILE", "fopen", "fread", "fgetc", "fclose", "memcpy", "memcmp", "size_t"})
    replace_all(text, std::string("$") + function, std::string(is_cpp ? "std::" : "") + function);
  return text;
}

std::string fortran_weight_loader() {
  return fortran_loader;
}

}  // namespace mylos
