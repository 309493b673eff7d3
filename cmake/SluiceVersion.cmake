# Where a binary comes from: generated/version.h in the build folder holds version, commit, compiler and build type.
# Each build runs write_version.cmake, which touches the file only when its text changes; only src/base/version.cc
# includes it, so a new commit recompiles one file.
set(SLUICE_GENERATED_DIR ${PROJECT_BINARY_DIR}/generated)
set(version_arguments
  -DSOURCE_DIR=${PROJECT_SOURCE_DIR} -DOUTPUT=${SLUICE_GENERATED_DIR}/version.h -DVERSION=${PROJECT_VERSION}
  "-DCOMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}" -DBUILD_TYPE=${CMAKE_BUILD_TYPE}
  -DSANITIZE=${SLUICE_SANITIZE} -P ${PROJECT_SOURCE_DIR}/cmake/write_version.cmake)
add_custom_target(sluice_version COMMAND ${CMAKE_COMMAND} ${version_arguments}
  BYPRODUCTS ${SLUICE_GENERATED_DIR}/version.h COMMENT "Reading the commit" VERBATIM)
