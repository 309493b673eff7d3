# sluice_embed(TARGET NAME DIR FILE...): puts DIR/FILE... into TARGET's read-only data, found through the C symbol
# NAME, an array of {const char* name; const void* data; size_t size} that ends with a null name
# (declared in src/engine/embedded_model.cc). The assembler copies the bytes (.incbin): no generated C array to compile.
function(sluice_embed target name dir)
  set(blobs "")
  set(table "")
  set(paths "")
  set(index 0)
  foreach(file ${ARGN})
    set(path ${PROJECT_SOURCE_DIR}/${dir}/${file})
    list(APPEND paths ${path})
    # 64: tensors keep the alignment that they have in a mapped file.
    string(APPEND blobs ".balign 64\n.L${name}_${index}:\n.incbin \"${path}\"\n.L${name}_${index}_end:\n.byte 0\n"
      ".L${name}_${index}_name:\n.asciz \"${file}\"\n")
    string(APPEND table ".quad .L${name}_${index}_name, .L${name}_${index}, .L${name}_${index}_end - .L${name}_${index}\n")
    math(EXPR index "${index} + 1")
  endforeach()
  set(source ${PROJECT_BINARY_DIR}/generated/${name}.s)
  file(CONFIGURE OUTPUT ${source} CONTENT [[
# Written by cmake/SluiceEmbed.cmake.
.section .rodata
@blobs@
# The table holds addresses: read-only once the loader has relocated it.
.section .data.rel.ro, "aw"
.balign 8
.globl @name@
.type @name@, @object
@name@:
@table@.quad 0, 0, 0
.size @name@, . - @name@
.section .note.GNU-stack, "", @progbits
]] @ONLY)
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS "${paths}" LANGUAGE ASM
    # clang complains of C++ options that mean nothing to an assembler.
    COMPILE_OPTIONS "$<$<C_COMPILER_ID:Clang>:-Wno-unused-command-line-argument>")
  target_sources(${target} PRIVATE ${source})
endfunction()
