# The installed tree: the command, two static libraries with their headers, find_package(sluice) and pkg-config files.
# The components are those of the Debian packages: runtime (sluice) and development (libsluice-dev).
include(CMakePackageConfigHelpers)

# sluice_library(EXPORTED_NAME FILE_NAME LAYERS layers... [DEPS libraries...]): lib<FILE_NAME>.a of the objects of these
# layers, with the alias sluice::<EXPORTED_NAME> that users of an installed tree see too.
function(sluice_library exported file)
  cmake_parse_arguments(ARG "" "" "LAYERS;DEPS" ${ARGN})
  set(target sluice_lib)
  if(NOT exported STREQUAL "sluice")
    set(target sluice_lib_${exported})
  endif()
  set(objects "")
  set(packages "")
  foreach(layer ${ARG_LAYERS})
    get_target_property(type sluice_${layer} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
      list(APPEND objects $<TARGET_OBJECTS:sluice_${layer}>)
    endif()
    get_target_property(links sluice_${layer} SLUICE_PACKAGES)
    list(APPEND packages ${links})
  endforeach()
  # Headers only: nothing of theirs is linked, and no public header of Sluice includes them.
  list(REMOVE_ITEM packages nlohmann_json::nlohmann_json links-NOTFOUND)
  list(REMOVE_DUPLICATES packages)
  add_library(${target} STATIC ${objects})
  add_library(sluice::${exported} ALIAS ${target})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${file} EXPORT_NAME ${exported} LINKER_LANGUAGE CXX)
  target_include_directories(${target} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${target} INTERFACE cxx_std_20)
  target_link_libraries(${target} INTERFACE ${ARG_DEPS} ${packages} Threads::Threads)
  if(SLUICE_SANITIZE)
    target_link_options(${target} INTERFACE -fsanitize=${SLUICE_SANITIZE})
  endif()
endfunction()

# sluice_install_generated("ARGUMENTS;..." FILE FOLDER): what the built command prints about itself, as an installed
# file. The option table of src/cli is the one source of the man page and the completions.
function(sluice_install_generated arguments file folder)
  set(output ${PROJECT_BINARY_DIR}/share/${file})
  add_custom_command(OUTPUT ${output} DEPENDS sluice VERBATIM
    COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:sluice> "-DARGUMENTS=${arguments}" -DOUTPUT=${output}
      -P ${PROJECT_SOURCE_DIR}/cmake/write_output.cmake)
  add_custom_target(sluice_share_${file} ALL DEPENDS ${output})
  install(FILES ${output} DESTINATION ${folder} COMPONENT runtime)
endfunction()

function(sluice_install)
  set(cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/sluice)
  if(TARGET sluice)
    install(TARGETS sluice RUNTIME COMPONENT runtime)
    sluice_install_generated("man" sluice.1 ${CMAKE_INSTALL_MANDIR}/man1)
    sluice_install_generated("completion;bash" sluice ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    sluice_install_generated("completion;zsh" _sluice ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    sluice_install_generated("completion;fish" sluice.fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  endif()
  install(FILES LICENSE README.md CHANGELOG.md THIRD_PARTY.md
    DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime OPTIONAL)

  install(DIRECTORY include/sluice DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
    FILES_MATCHING PATTERN "*.h")
  install(TARGETS sluice_lib sluice_lib_moe EXPORT sluice-targets ARCHIVE COMPONENT development)
  install(EXPORT sluice-targets NAMESPACE sluice:: DESTINATION ${cmake_dir} COMPONENT development)
  configure_package_config_file(cmake/sluice-config.cmake.in generated/sluice-config.cmake
    INSTALL_DESTINATION ${cmake_dir})
  # Before 1.0 a minor version may change the interface.
  write_basic_package_version_file(generated/sluice-config-version.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/generated/sluice-config.cmake
    ${PROJECT_BINARY_DIR}/generated/sluice-config-version.cmake
    DESTINATION ${cmake_dir} COMPONENT development)
  # Relative to the .pc file, so that a tree that was moved (or unpacked from a .deb) still works.
  file(RELATIVE_PATH SLUICE_PC_PREFIX
    ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  foreach(name sluice sluice-moe)
    configure_file(cmake/${name}.pc.in generated/${name}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/generated/${name}.pc
      DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
  endforeach()

  configure_file(cmake/uninstall.cmake.in generated/uninstall.cmake @ONLY)
  add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -P ${PROJECT_BINARY_DIR}/generated/uninstall.cmake
    COMMENT "Removing what the last install wrote" VERBATIM)
endfunction()
