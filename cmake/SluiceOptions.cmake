# Options, compiler settings and the packages that Debian 12 provides.
option(SLUICE_BUILD_CLI "Build the sluice command" ON)
option(SLUICE_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(SLUICE_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(SLUICE_BUILD_FUZZERS "Build the libFuzzer targets (clang only)" OFF)
option(SLUICE_EMBED_MODEL "Carry the default model inside the program" ON)
option(SLUICE_WERROR "Treat warnings as errors" ${PROJECT_IS_TOP_LEVEL})
set(SLUICE_SANITIZE "" CACHE STRING "Sanitizers, for example address,undefined")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
# Build type of the sanitizer presets: checks on, just enough optimisation that tests on real models stay quick, line
# numbers only (full debug information doubles the time of a build).
foreach(language C CXX ASM)
  set(CMAKE_${language}_FLAGS_SANITIZE "-O1 -g1" CACHE STRING "Flags of the build type Sanitize")
endforeach()
mark_as_advanced(CMAKE_C_FLAGS_SANITIZE CMAKE_CXX_FLAGS_SANITIZE CMAKE_ASM_FLAGS_SANITIZE)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(SLUICE_CCACHE ccache)
if(SLUICE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${SLUICE_CCACHE})
endif()

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(simdjson REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(LIBEDIT REQUIRED IMPORTED_TARGET libedit)

# toml++ as headers only: its compiled library knows the throwing interface alone, ours returns errors.
find_path(TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h REQUIRED)
mark_as_advanced(TOMLPLUSPLUS_INCLUDE_DIR)
add_library(sluice_tomlplusplus INTERFACE)
target_include_directories(sluice_tomlplusplus SYSTEM INTERFACE ${TOMLPLUSPLUS_INCLUDE_DIR})

# What every target of the project is compiled with; nothing of it reaches the users of the installed libraries.
add_library(sluice_options INTERFACE)
target_include_directories(sluice_options INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_compile_options(sluice_options INTERFACE
  -ffp-contract=off  # a fused multiply-add is written as one; elsewhere results must not depend on the compiler's mood
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor -Wold-style-cast
  -Wno-sign-conversion>
  # GCC 12 warns about overlaps inside std::string that cannot happen (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
if(SLUICE_WERROR)
  target_compile_options(sluice_options INTERFACE -Werror)
endif()
target_link_libraries(sluice_options INTERFACE Threads::Threads)
if(SLUICE_SANITIZE)
  set(sanitize -fsanitize=${SLUICE_SANITIZE} -fno-sanitize-recover=all)
  target_compile_options(sluice_options INTERFACE ${sanitize} -fno-omit-frame-pointer)
  target_link_options(sluice_options INTERFACE ${sanitize})
endif()
if(SLUICE_BUILD_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "SLUICE_BUILD_FUZZERS needs clang; this is ${CMAKE_CXX_COMPILER_ID}: "
      "use the preset fuzz, or -DCMAKE_CXX_COMPILER=clang++")
  endif()
  # The layers report the branches they take; only the fuzz targets link the engine that reads them.
  target_compile_options(sluice_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
