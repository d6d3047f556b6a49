"""scripts/hip_kernels.py: what it reads of the metadata of code for AMD devices.

usage: test_hip_kernels.py REPOSITORY
"""

import pathlib
import sys

NOTES = """Displaying notes found in: .note
  AMDGPU               0x00000764\tNT_AMDGPU_METADATA (AMDGPU Metadata)
    AMDGPU Metadata:
        ---
amdhsa.kernels:
  - .agpr_count:     4
    .args:
      - .offset:         0
        .size:           512
        .value_kind:     by_value
    .group_segment_fixed_size: 1024
    .kernarg_segment_size: 512
    .max_flat_workgroup_size: 256
    .name:           _ZN6Kokkos4Impl5firstEv
    .private_segment_fixed_size: 24
    .sgpr_count:     40
    .sgpr_spill_count: 0
    .vgpr_count:     128
    .vgpr_spill_count: 6
    .wavefront_size: 64
  - .args:           []
    .group_segment_fixed_size: 0
    .max_flat_workgroup_size: 1024
    .name:           second
    .private_segment_fixed_size: 0
    .sgpr_spill_count: 3
    .vgpr_count:     8
    .vgpr_spill_count: 0
amdhsa.target:   amdgcn-amd-amdhsa--gfx90a
amdhsa.version:
  - 1
  - 2
...
"""


def main():
    sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / "scripts"))
    from hip_kernels import Kernel, kernels_in

    found = dict(kernels_in(NOTES))
    assert found == {
        "_ZN6Kokkos4Impl5firstEv": Kernel(128, 4, 1024, 256, 24, 6, 0),
        "second": Kernel(8, 0, 0, 1024, 0, 0, 3),
    }, found
    assert not dict(kernels_in("no metadata"))


if __name__ == "__main__":
    main()
