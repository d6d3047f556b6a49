message(STATUS "Mylos ${PROJECT_VERSION}")
