! Without the argument `error`, a failure ends the program.
program stops
  use mylos
  implicit none
  type(mylos_model) :: model
  call model%load("nowhere.h5")
  print "(a)", "not reached"
end program stops
