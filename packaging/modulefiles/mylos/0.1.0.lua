-- Lmod module file of an installed Mylos. Change the prefix and the names of the site's own modules, and put it into
-- MODULEPATH as mylos/0.1.0.lua.
local prefix = "/opt/mylos/0.1.0"

help([[
Mylos trains neural networks in mixed precision under MPI:
  mpirun --bind-to none -n 4 mylos train deck.toml
  mylos manual            lists every key of a deck
]])
whatis("Name: Mylos")
whatis("Version: 0.1.0")
whatis("Description: mixed-precision neural-network training on Kokkos and MPI")

-- What it was built with: another MPI is another program.
depends_on("gcc/12", "openmpi/4.1", "hdf5/1.10")

prepend_path("PATH", pathJoin(prefix, "bin"))
prepend_path("CMAKE_PREFIX_PATH", prefix)
prepend_path("PKG_CONFIG_PATH", pathJoin(prefix, "lib/pkgconfig"))
setenv("MYLOS_ROOT", prefix)

-- The launcher binds the ranks; their threads stay within what it gives them.
setenv("OMP_PROC_BIND", "false")

family("mylos")
