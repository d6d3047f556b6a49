"""Highway 1.3 for Mylos: Spack's own recipe, which ended at 1.2.0 on 2026-07-01, with one more version."""

from spack.package import *

# Spack 1.0 moved its recipes.
try:
    from spack_repo.builtin.packages.highway.package import Highway as BuiltinHighway
except ImportError:
    from spack.pkg.builtin.highway import Highway as BuiltinHighway


class Highway(BuiltinHighway):
    __doc__ = BuiltinHighway.__doc__

    # The release's file, with the sha256 of scripts/sources.sh.
    version(
        "1.3.0",
        url="https://github.com/google/highway/releases/download/1.3.0/highway-1.3.0.tar.gz",
        sha256="07b3c1ba2c1096878a85a31a5b9b3757427af963b1141ca904db2f9f4afe0bc2",
    )
