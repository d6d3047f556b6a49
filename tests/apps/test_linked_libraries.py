"""The command and its libraries name no shared library that they do not call, and load none to reach a network other than
MPI's, unless they load HDF5.

usage: test_linked_libraries.py MYLOS BUILD STATIC_HDF5 C_STATIC_HDF5
STATIC_HDF5: 1 where the build contains HDF5, 0 where it loads it. C_STATIC_HDF5: libmylos.so
"""
import pathlib
import sys

from linked_libraries import loaded, named, not_called

# Of Debian's shared HDF5: it reads files from servers by libcurl, which brings these and more.
OF_NETWORKS = ("libcurl", "libssh", "libldap", "libgssapi", "libssl", "libnghttp", "librtmp")


def main(mylos, build, static_hdf5, c_static_hdf5):
    programs = [pathlib.Path(mylos), *sorted(pathlib.Path(build).glob("lib/**/libmylos*.so"))]
    for program in programs:
        names = loaded(program)
        assert "libmpi" in " ".join(names), f"{program}: ldd finds no MPI"
        idle = not_called(program)
        assert idle == [], f"{program} names, and does not call, {idle}"
        of_networks = [name for name in names if name.startswith(OF_NETWORKS)]
        loads_hdf5 = "0" == (c_static_hdf5 if program.name == "libmylos.so" else static_hdf5)
        assert of_networks == [] or loads_hdf5, f"{program} loads {of_networks}"
        print(f"{program}: {len(named(program))} libraries named, all of them called; {len(names)} loaded with theirs")


if __name__ == "__main__":
    main(*sys.argv[1:])
