# Script (cmake -P): writes OUTPUT from SOURCE_DIR's commit and the -D arguments, if the text differs.
set(commit "unknown")
if(EXISTS ${SOURCE_DIR}/.git)
  # Optional locks off: this runs while other git commands do. safe.directory: root often builds a user's clone.
  set(ENV{GIT_OPTIONAL_LOCKS} 0)
  execute_process(COMMAND git -c safe.directory=* -C ${SOURCE_DIR} describe --always --dirty --abbrev=12 --exclude=*
    OUTPUT_VARIABLE described RESULT_VARIABLE failed ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT failed)
    set(commit ${described})
  endif()
endif()
string(REPLACE "GNU" "GCC" COMPILER "${COMPILER}")
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT [[
// Written by cmake/write_version.cmake.
#pragma once
#define SLUICE_VERSION "@VERSION@"
#define SLUICE_COMMIT "@commit@"
#define SLUICE_COMPILER "@COMPILER@"
#define SLUICE_BUILD_TYPE "@BUILD_TYPE@"
#define SLUICE_SANITIZERS "@SANITIZE@"
]] @ONLY)
