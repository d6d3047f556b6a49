"""usage: hip_kernels.py PROGRAM MAX_BYTES [LIST]
Prints the kernels of a program for AMD devices that spill more bytes than that, or than is stated below for them, from the metadata
of its code for devices, and writes all of them to LIST: "NAME REGISTERS SHARED_BYTES MAX_THREADS LOCAL_BYTES" each. Exit code 1: there
are such kernels; 2: the program has no kernels."""

import dataclasses
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

from spills import bound_of

# Kernels that may spill more, by a part of their names: bytes of a lane, and why.
NAMED = {
    # One lane for each parameter adds the digits of its exact sums, and one lane decides about a step: both once in a step.
    "TrustRatios6divide": 1120,
    "mylos6decide": 16,
    # The loss holds a row of logits in the registers of 512 lanes: of half, on MI300, four more than there are.
    "cross_entropy9read_once": 16,
}
MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
FIELDS = {".vgpr_count": "registers", ".agpr_count": "matrix_registers", ".group_segment_fixed_size": "shared",
          ".max_flat_workgroup_size": "max_threads", ".private_segment_fixed_size": "private",
          ".vgpr_spill_count": "spilled_vectors", ".sgpr_spill_count": "spilled_scalars"}


@dataclasses.dataclass
class Kernel:
    registers: int = 0
    matrix_registers: int = 0
    shared: int = 0
    max_threads: int = 1024
    private: int = 0
    spilled_vectors: int = 0
    spilled_scalars: int = 0


def tool(name):
    """LLVM's tool, which distributions install with its version."""
    folders = [pathlib.Path(folder) for folder in os.environ["PATH"].split(":")]
    found = sorted(path for folder in folders for path in folder.glob(f"{name}*") if re.fullmatch(rf"{name}(-\d+)?", path.name))
    if not found:
        sys.exit(f"{name} of LLVM is not here")
    return str(found[-1])


def code_objects(program, folder):
    """The ELF files for devices that lie in the section .hip_fatbin: bundles, one after the other, each with a table of its
    entries (offset, bytes, name)."""
    section = folder / "fatbin"
    subprocess.run([tool("llvm-objcopy"), f"--dump-section=.hip_fatbin={section}", str(program), str(folder / "copy")], check=True)
    data = section.read_bytes()
    for number, start in enumerate(match.start() for match in re.finditer(MAGIC, data)):
        at = start + len(MAGIC)
        (count,) = struct.unpack_from("<Q", data, at)
        at += 8
        for _ in range(count):
            offset, size, length = struct.unpack_from("<QQQ", data, at)
            name = data[at + 24 : at + 24 + length].decode()
            at += 24 + length
            if "amdgcn" in name and size > 0:
                path = folder / f"code-{number}"
                path.write_bytes(data[start + offset : start + offset + size])
                yield path


def kernels_in(notes):
    """Those that llvm-readelf --notes prints: items of the list amdhsa.kernels, whose own fields are indented by four."""
    listed = notes.partition("amdhsa.kernels:")[2].partition("amdhsa.target")[0]
    for item in re.split(r"\n  - ", listed)[1:]:
        values = dict(re.findall(r"^(?: {4})?(\.\w+): +(\S+)$", item, flags=re.MULTILINE))
        yield values[".name"].strip("'"), Kernel(**{FIELDS[key]: int(value) for key, value in values.items() if key in FIELDS})


def kernels_of(program):
    kernels = {}
    with tempfile.TemporaryDirectory() as folder:
        for path in code_objects(program, pathlib.Path(folder)):
            notes = subprocess.run([tool("llvm-readelf"), "--notes", str(path)], capture_output=True, text=True, check=True).stdout
            kernels.update(kernels_in(notes))
    return kernels


def main():
    found = kernels_of(sys.argv[1])
    max_bytes = int(sys.argv[2])
    if not found:
        print(f"{sys.argv[1]} has no kernels", file=sys.stderr)
        return 2
    if len(sys.argv) > 3:
        pathlib.Path(sys.argv[3]).write_text("".join(
            f"{name} {kernel.registers} {kernel.shared} {kernel.max_threads} {kernel.private}\n" for name, kernel in found.items()))
    spilling = {name: 4 * kernel.spilled_vectors for name, kernel in found.items() if kernel.spilled_vectors > 0}
    bad = sorted(((bytes_, name) for name, bytes_ in spilling.items() if bytes_ > bound_of(name, max_bytes, NAMED)), reverse=True)
    for bytes_, name in bad:
        print(f"{bytes_:6} bytes of a lane  {name}")
    scalars = sum(kernel.spilled_scalars > 0 for kernel in found.values())
    print(f"{len(found)} kernels, {len(spilling)} of them spill registers of vectors, {len(bad)} more than {max_bytes} bytes "
          f"or than their names permit; "
          f"{scalars} keep scalars in registers of vectors")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
