! The functions and types of mylos.h, as far as the module mylos calls them.
module mylos_c
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_float, c_funptr, c_int32_t, c_int64_t, c_null_funptr, &
                                         c_null_ptr, c_ptr, c_size_t
  implicit none
  public

  integer(c_int32_t), parameter :: mylos_abi = 1, mylos_failed = 1
  integer(c_int32_t), parameter :: mylos_fp32 = 0, mylos_fp64 = 1
  integer(c_int32_t), parameter :: mylos_input_names = 0, mylos_target_names = 1, mylos_class_names = 2
  integer(c_int32_t), parameter :: mylos_fortran_order = 1, mylos_columns_first = 2
  integer, parameter :: mylos_max_rank = 5

  ! mylos_array and mylos_const_array
  type, bind(c) :: c_array
    type(c_ptr) :: data = c_null_ptr
    integer(c_int32_t) :: type = 0
    integer(c_int32_t) :: rank = 0
    integer(c_int64_t) :: extents(mylos_max_rank) = 1
    integer(c_int64_t) :: strides(mylos_max_rank) = 1
    integer(c_int32_t) :: on_device = 0
    integer(c_int32_t) :: order = mylos_fortran_order
  end type c_array

  type, bind(c) :: c_load_options
    integer(c_int32_t) :: average = 0
    integer(c_int32_t) :: threads = 0
    integer(c_int64_t) :: max_samples = 0
  end type c_load_options

  type, bind(c) :: c_model_info
    integer(c_int64_t) :: inputs = 0
    integer(c_int64_t) :: outputs = 0
    integer(c_int32_t) :: input_rank = 0
    integer(c_int32_t) :: output_rank = 0
    integer(c_int64_t) :: input_shape(mylos_max_rank) = 0
    integer(c_int64_t) :: output_shape(mylos_max_rank) = 0
    integer(c_int64_t) :: step = 0
    integer(c_int64_t) :: samples_per_piece = 0
    integer(c_int64_t) :: names(3) = 0
    integer(c_int32_t) :: type = 0
    integer(c_int32_t) :: reserved = 0
    integer(c_int64_t) :: bytes(3) = 0
  end type c_model_info

  type, bind(c) :: c_input_check
    integer(c_int32_t) :: no_range = 0
    integer(c_int32_t) :: no_distance = 0
    real(c_double) :: limit = 0
  end type c_input_check

  type, bind(c) :: c_trust_info
    integer(c_int32_t) :: has_range = 0
    integer(c_int32_t) :: has_distance = 0
    integer(c_int32_t) :: has_deviations = 0
    integer(c_int32_t) :: reserved = 0
    real(c_double) :: coverage = 0
    integer(c_int64_t) :: samples = 0
    real(c_double) :: distances(3) = 0
  end type c_trust_info

  type, bind(c) :: c_trainer_options
    integer(c_int32_t) :: input_gradients = 0
    integer(c_int32_t) :: mean_loss = 0
    type(c_funptr) :: message = c_null_funptr
    type(c_ptr) :: context = c_null_ptr
  end type c_trainer_options

  type, bind(c) :: c_trainer_info
    integer(c_int64_t) :: inputs = 0
    integer(c_int64_t) :: outputs = 0
    integer(c_int64_t) :: max_samples = 0
    integer(c_int64_t) :: parameters = 0
  end type c_trainer_info

  type, bind(c) :: c_report
    integer(c_int64_t) :: step = 0
    integer(c_int64_t) :: samples = 0
    real(c_double) :: loss = 0
    real(c_double) :: gradient_norm = 0
    real(c_double) :: lr = 0
    real(c_double) :: loss_scale = 1
    integer(c_int32_t) :: overflow_rank = -1
    integer(c_int32_t) :: updated = 0
  end type c_report

  type, bind(c) :: c_apply_options
    integer(c_int32_t) :: has_lr = 0
    integer(c_int32_t) :: has_loss = 0
    real(c_double) :: lr = 0
    real(c_double) :: loss = 0
  end type c_apply_options

  interface
    function c_strlen(text) bind(c, name="strlen") result(length)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: length
    end function c_strlen
    function c_version() bind(c, name="mylos_version") result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function c_version
    function c_last_error() bind(c, name="mylos_last_error") result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function c_last_error
    function c_last_error_id() bind(c, name="mylos_last_error_id") result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function c_last_error_id
    function c_initialize(abi, threads) bind(c, name="mylos_initialize_abi") result(status)
      import :: c_int32_t
      integer(c_int32_t), value :: abi, threads
      integer(c_int32_t) :: status
    end function c_initialize
    function c_finalize() bind(c, name="mylos_finalize") result(status)
      import :: c_int32_t
      integer(c_int32_t) :: status
    end function c_finalize

    function c_model_open(abi, path, options, model) bind(c, name="mylos_model_open") result(status)
      import :: c_char, c_int32_t, c_load_options, c_ptr
      integer(c_int32_t), value :: abi
      character(kind=c_char), intent(in) :: path(*)
      type(c_load_options), intent(in) :: options
      type(c_ptr), intent(inout) :: model
      integer(c_int32_t) :: status
    end function c_model_open
    function c_model_open_on_grid(abi, path, options, rank, shape, model) &
        bind(c, name="mylos_model_open_on_grid") result(status)
      import :: c_char, c_int32_t, c_int64_t, c_load_options, c_ptr
      integer(c_int32_t), value :: abi
      character(kind=c_char), intent(in) :: path(*)
      type(c_load_options), intent(in) :: options
      integer(c_int32_t), value :: rank
      integer(c_int64_t), intent(in) :: shape(*)
      type(c_ptr), intent(inout) :: model
      integer(c_int32_t) :: status
    end function c_model_open_on_grid
    function c_model_open_with_derivatives(abi, path, options, rank, shape, model) &
        bind(c, name="mylos_model_open_with_derivatives") result(status)
      import :: c_char, c_int32_t, c_int64_t, c_load_options, c_ptr
      integer(c_int32_t), value :: abi
      character(kind=c_char), intent(in) :: path(*)
      type(c_load_options), intent(in) :: options
      integer(c_int32_t), value :: rank
      integer(c_int64_t), intent(in) :: shape(*)
      type(c_ptr), intent(inout) :: model
      integer(c_int32_t) :: status
    end function c_model_open_with_derivatives
    function c_model_open_in_double(abi, path, options, derivatives, rank, shape, model) &
        bind(c, name="mylos_model_open_in_double") result(status)
      import :: c_char, c_int32_t, c_int64_t, c_load_options, c_ptr
      integer(c_int32_t), value :: abi
      character(kind=c_char), intent(in) :: path(*)
      type(c_load_options), intent(in) :: options
      integer(c_int32_t), value :: derivatives, rank
      integer(c_int64_t), intent(in) :: shape(*)
      type(c_ptr), intent(inout) :: model
      integer(c_int32_t) :: status
    end function c_model_open_in_double
    function c_model_clone(model, clone) bind(c, name="mylos_model_clone") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: model
      type(c_ptr), intent(inout) :: clone
      integer(c_int32_t) :: status
    end function c_model_clone
    function c_model_get_info(model, info) bind(c, name="mylos_model_get_info") result(status)
      import :: c_int32_t, c_model_info, c_ptr
      type(c_ptr), value :: model
      type(c_model_info), intent(inout) :: info
      integer(c_int32_t) :: status
    end function c_model_get_info
    function c_model_name(model, names, index) bind(c, name="mylos_model_name") result(text)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: model
      integer(c_int32_t), value :: names
      integer(c_int64_t), value :: index
      type(c_ptr) :: text
    end function c_model_name
    function c_model_infer(model, x, y, units) bind(c, name="mylos_model_infer") result(status)
      import :: c_array, c_int32_t, c_ptr
      type(c_ptr), value :: model
      type(c_array), intent(in) :: x, y
      integer(c_int32_t), value :: units
      integer(c_int32_t) :: status
    end function c_model_infer
    function c_model_vjp(model, x, dy, dx, units) bind(c, name="mylos_model_vjp") result(status)
      import :: c_array, c_int32_t, c_ptr
      type(c_ptr), value :: model
      type(c_array), intent(in) :: x, dy, dx
      integer(c_int32_t), value :: units
      integer(c_int32_t) :: status
    end function c_model_vjp
    function c_model_jvp(model, x, dx, dy, units) bind(c, name="mylos_model_jvp") result(status)
      import :: c_array, c_int32_t, c_ptr
      type(c_ptr), value :: model
      type(c_array), intent(in) :: x, dx, dy
      integer(c_int32_t), value :: units
      integer(c_int32_t) :: status
    end function c_model_jvp
    function c_model_jacobian(model, x, j, units) bind(c, name="mylos_model_jacobian") result(status)
      import :: c_array, c_int32_t, c_ptr
      type(c_ptr), value :: model
      type(c_array), intent(in) :: x, j
      integer(c_int32_t), value :: units
      integer(c_int32_t) :: status
    end function c_model_jacobian
    function c_model_destroy(model) bind(c, name="mylos_model_destroy") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: model
      integer(c_int32_t) :: status
    end function c_model_destroy

    function c_model_get_trust(model, info) bind(c, name="mylos_model_get_trust") result(status)
      import :: c_int32_t, c_ptr, c_trust_info
      type(c_ptr), value :: model
      type(c_trust_info), intent(inout) :: info
      integer(c_int32_t) :: status
    end function c_model_get_trust
    function c_model_check_inputs(model, x, check, flags, distances) &
        bind(c, name="mylos_model_check_inputs") result(status)
      import :: c_array, c_input_check, c_int32_t, c_ptr
      type(c_ptr), value :: model
      type(c_array), intent(in) :: x
      type(c_input_check), intent(in) :: check
      type(c_ptr), value :: flags, distances
      integer(c_int32_t) :: status
    end function c_model_check_inputs
    function c_model_infer_uncertain(model, x, mean, deviation, lower, upper) &
        bind(c, name="mylos_model_infer_uncertain") result(status)
      import :: c_array, c_int32_t, c_ptr
      type(c_ptr), value :: model
      type(c_array), intent(in) :: x, mean
      type(c_array), intent(in), optional :: deviation, lower, upper
      integer(c_int32_t) :: status
    end function c_model_infer_uncertain

    function c_ensemble_open(abi, paths, count, options, ensemble) bind(c, name="mylos_ensemble_open") result(status)
      import :: c_int32_t, c_load_options, c_ptr
      integer(c_int32_t), value :: abi, count
      type(c_ptr), intent(in) :: paths(*)
      type(c_load_options), intent(in) :: options
      type(c_ptr), intent(inout) :: ensemble
      integer(c_int32_t) :: status
    end function c_ensemble_open
    function c_ensemble_open_with_derivatives(abi, paths, count, options, ensemble) &
        bind(c, name="mylos_ensemble_open_with_derivatives") result(status)
      import :: c_int32_t, c_load_options, c_ptr
      integer(c_int32_t), value :: abi, count
      type(c_ptr), intent(in) :: paths(*)
      type(c_load_options), intent(in) :: options
      type(c_ptr), intent(inout) :: ensemble
      integer(c_int32_t) :: status
    end function c_ensemble_open_with_derivatives
    function c_ensemble_clone(ensemble, clone) bind(c, name="mylos_ensemble_clone") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: ensemble
      type(c_ptr), intent(inout) :: clone
      integer(c_int32_t) :: status
    end function c_ensemble_clone
    function c_ensemble_get_info(ensemble, info) bind(c, name="mylos_ensemble_get_info") result(status)
      import :: c_int32_t, c_model_info, c_ptr
      type(c_ptr), value :: ensemble
      type(c_model_info), intent(inout) :: info
      integer(c_int32_t) :: status
    end function c_ensemble_get_info
    function c_ensemble_infer(ensemble, x, mean, deviation, units) bind(c, name="mylos_ensemble_infer") result(status)
      import :: c_array, c_int32_t, c_ptr
      type(c_ptr), value :: ensemble
      type(c_array), intent(in) :: x, mean, deviation
      integer(c_int32_t), value :: units
      integer(c_int32_t) :: status
    end function c_ensemble_infer
    function c_ensemble_vjp(ensemble, x, dy, dx, units) bind(c, name="mylos_ensemble_vjp") result(status)
      import :: c_array, c_int32_t, c_ptr
      type(c_ptr), value :: ensemble
      type(c_array), intent(in) :: x, dy, dx
      integer(c_int32_t), value :: units
      integer(c_int32_t) :: status
    end function c_ensemble_vjp
    function c_ensemble_jvp(ensemble, x, dx, dy, units) bind(c, name="mylos_ensemble_jvp") result(status)
      import :: c_array, c_int32_t, c_ptr
      type(c_ptr), value :: ensemble
      type(c_array), intent(in) :: x, dx, dy
      integer(c_int32_t), value :: units
      integer(c_int32_t) :: status
    end function c_ensemble_jvp
    function c_ensemble_jacobian(ensemble, x, j, units) bind(c, name="mylos_ensemble_jacobian") result(status)
      import :: c_array, c_int32_t, c_ptr
      type(c_ptr), value :: ensemble
      type(c_array), intent(in) :: x, j
      integer(c_int32_t), value :: units
      integer(c_int32_t) :: status
    end function c_ensemble_jacobian
    function c_ensemble_destroy(ensemble) bind(c, name="mylos_ensemble_destroy") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: ensemble
      integer(c_int32_t) :: status
    end function c_ensemble_destroy

    function c_trainer_open(abi, deck, is_text, communicator, options, trainer) &
      bind(c, name="mylos_trainer_open") result(status)
      import :: c_char, c_int32_t, c_ptr, c_trainer_options
      integer(c_int32_t), value :: abi
      character(kind=c_char), intent(in) :: deck(*)
      integer(c_int32_t), value :: is_text, communicator
      type(c_trainer_options), intent(in) :: options
      type(c_ptr), intent(inout) :: trainer
      integer(c_int32_t) :: status
    end function c_trainer_open
    function c_trainer_get_info(trainer, info) bind(c, name="mylos_trainer_get_info") result(status)
      import :: c_int32_t, c_ptr, c_trainer_info
      type(c_ptr), value :: trainer
      type(c_trainer_info), intent(inout) :: info
      integer(c_int32_t) :: status
    end function c_trainer_get_info
    function c_trainer_step(trainer, x, targets, report) bind(c, name="mylos_trainer_step") result(status)
      import :: c_array, c_int32_t, c_ptr, c_report
      type(c_ptr), value :: trainer
      type(c_array), intent(in) :: x, targets
      type(c_report), intent(inout) :: report
      integer(c_int32_t) :: status
    end function c_trainer_step
    function c_trainer_step_labels(trainer, x, labels, report) bind(c, name="mylos_trainer_step_labels") result(status)
      import :: c_array, c_int32_t, c_ptr, c_report
      type(c_ptr), value :: trainer
      type(c_array), intent(in) :: x
      integer(c_int32_t), intent(in) :: labels(*)
      type(c_report), intent(inout) :: report
      integer(c_int32_t) :: status
    end function c_trainer_step_labels
    function c_trainer_forward(trainer, x, y) bind(c, name="mylos_trainer_forward") result(status)
      import :: c_array, c_int32_t, c_ptr
      type(c_ptr), value :: trainer
      type(c_array), intent(in) :: x, y
      integer(c_int32_t) :: status
    end function c_trainer_forward
    function c_trainer_backward(trainer, dy, dx) bind(c, name="mylos_trainer_backward") result(status)
      import :: c_array, c_int32_t, c_ptr
      type(c_ptr), value :: trainer
      type(c_array), intent(in) :: dy
      type(c_array), intent(in), optional :: dx
      integer(c_int32_t) :: status
    end function c_trainer_backward
    function c_trainer_apply(trainer, options, report) bind(c, name="mylos_trainer_apply") result(status)
      import :: c_apply_options, c_int32_t, c_ptr, c_report
      type(c_ptr), value :: trainer
      type(c_apply_options), intent(in) :: options
      type(c_report), intent(inout) :: report
      integer(c_int32_t) :: status
    end function c_trainer_apply
    function c_trainer_read_parameter(trainer, name, values, count) &
      bind(c, name="mylos_trainer_read_parameter") result(status)
      import :: c_char, c_float, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: trainer
      character(kind=c_char), intent(in) :: name(*)
      real(c_float), intent(inout) :: values(*)
      integer(c_int64_t), value :: count
      integer(c_int32_t) :: status
    end function c_trainer_read_parameter
    function c_trainer_read_gradient(trainer, name, values, count) &
      bind(c, name="mylos_trainer_read_gradient") result(status)
      import :: c_char, c_float, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: trainer
      character(kind=c_char), intent(in) :: name(*)
      real(c_float), intent(inout) :: values(*)
      integer(c_int64_t), value :: count
      integer(c_int32_t) :: status
    end function c_trainer_read_gradient
    function c_trainer_write_parameter(trainer, name, values, count) &
      bind(c, name="mylos_trainer_write_parameter") result(status)
      import :: c_char, c_float, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: trainer
      character(kind=c_char), intent(in) :: name(*)
      real(c_float), intent(in) :: values(*)
      integer(c_int64_t), value :: count
      integer(c_int32_t) :: status
    end function c_trainer_write_parameter
    function c_trainer_infer(trainer, x, y) bind(c, name="mylos_trainer_infer") result(status)
      import :: c_array, c_int32_t, c_ptr
      type(c_ptr), value :: trainer
      type(c_array), intent(in) :: x, y
      integer(c_int32_t) :: status
    end function c_trainer_infer
    function c_trainer_save(trainer, path) bind(c, name="mylos_trainer_save") result(status)
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: trainer
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int32_t) :: status
    end function c_trainer_save
    function c_trainer_load(trainer, path) bind(c, name="mylos_trainer_load") result(status)
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: trainer
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int32_t) :: status
    end function c_trainer_load
    function c_trainer_destroy(trainer) bind(c, name="mylos_trainer_destroy") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: trainer
      integer(c_int32_t) :: status
    end function c_trainer_destroy
  end interface
end module mylos_c
