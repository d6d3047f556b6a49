! The Fortran module of Mylos: trained networks in Fortran programs, and networks that they train.
!
!   use mylos
!   type(mylos_model) :: model
!   call model%load("closure.h5")
!   call model%infer(x, y)               ! x(features, columns), y(outputs, columns): real32 or real64
!
! Arrays have 1 to 5 dimensions and are read and written in place, also if they are sections of larger ones:
! nothing is copied. The first dimension is the features (channels, then points of a grid); the last ones
! number samples. With columns_first=.true. it is the other way round: x(columns, features).
!
! Every procedure has an optional argument `error`. If it is present, the program continues after a failure,
! and error%code is not 0; otherwise a failure ends the program with the message and a nonzero exit code.
! docs/reference/fortran.md is the manual; mylos.h documents each call.
!
! The module is compiled with the program, by the program's compiler (Fortran 2018), and links libmylos.so.
module mylos
  use mylos_errors, only: mylos_error, mylos_initialize, mylos_finalize, mylos_version
  use mylos_ensembles, only: mylos_ensemble
  use mylos_models, only: mylos_far, mylos_model, mylos_not_finite, mylos_outside_range
  use mylos_trainers, only: mylos_report, mylos_trainer
  implicit none
  public
end module mylos
