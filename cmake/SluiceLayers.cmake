# sluice_layer(NAME [DEPS layers...] [LINK packages...]): one static library of src/NAME/**.cc.
# Files named *_avx2.cc, *_avx512.cc, *_avx512vnni.cc and *_avx512bf16.cc get their instruction set; they must keep
# everything but their one exported table in an anonymous namespace, so that no AVX code leaks into a shared inline
# function.
set(SLUICE_AVX2_FLAGS -mavx2 -mfma -mf16c -mbmi2)
set(SLUICE_AVX512_FLAGS ${SLUICE_AVX2_FLAGS} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512cd)
set(SLUICE_AVX512VNNI_FLAGS ${SLUICE_AVX512_FLAGS} -mavx512vnni)
set(SLUICE_AVX512BF16_FLAGS ${SLUICE_AVX512VNNI_FLAGS} -mavx512bf16)

function(sluice_isa_flags)
  foreach(file ${ARGN})
    foreach(isa AVX2 AVX512 AVX512VNNI AVX512BF16)
      string(TOLOWER ${isa} lower)
      if(file MATCHES "_${lower}\\.cc$")
        set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS "${SLUICE_${isa}_FLAGS}")
      endif()
    endforeach()
  endforeach()
endfunction()

function(sluice_layer name)
  cmake_parse_arguments(ARG "" "" "DEPS;LINK" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/${name}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  sluice_isa_flags(${sources})
  set(kind STATIC)
  set(scope PUBLIC)
  if(NOT sources)  # a layer that is headers only
    set(kind INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(sluice_${name} ${kind} ${sources})
  # An archive name of its own: libsluice_moe.a is what is installed (SluiceInstall.cmake).
  set_target_properties(sluice_${name} PROPERTIES SLUICE_PACKAGES "${ARG_LINK}" OUTPUT_NAME sluice_layer_${name})
  target_link_libraries(sluice_${name} ${scope} sluice_options ${ARG_LINK})
  foreach(dep ${ARG_DEPS})
    target_link_libraries(sluice_${name} ${scope} sluice_${dep})
  endforeach()
endfunction()
