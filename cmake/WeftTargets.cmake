# How every target of ours is compiled, and how a folder of .cpp files becomes executables.

# weft_compile_settings(<target>): C++20 without extensions; no fused multiply-add behind our back, so that all backends
# give the same bits; strict warnings, but only for those who work on Weft itself.
function(weft_compile_settings target)
  set_target_properties(${target} PROPERTIES CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE -ffp-contract=off)
  if(PROJECT_IS_TOP_LEVEL)
    # A designated initialiser that leaves fields at their defaults is how our tables are written.
    target_compile_options(${target} PRIVATE -Wall -Wextra -Werror -Wno-missing-field-initializers)
  endif()
endfunction()

# weft_link_small(<target>): a shared object that is installed: what nobody calls is left out, and functions with equal code are one, of which C++ templates
# make many. GNU ld cannot do the latter; gold, which comes with it, can.
include(CheckLinkerFlag)
function(weft_link_small target)
  target_link_options(${target} PRIVATE "LINKER:--gc-sections")
  check_linker_flag(CXX "-fuse-ld=gold;LINKER:--icf=safe" WEFT_LINKER_FOLDS)
  if(WEFT_LINKER_FOLDS)
    target_link_options(${target} PRIVATE -fuse-ld=gold "LINKER:--icf=safe")
  endif()
endfunction()

# weft_add_executables(<prefix> <folder> <out>): one executable <prefix>_<name> per <folder>/<name>.cpp, linked to weft;
# <out> lists them. An empty or absent folder gives an empty list.
function(weft_add_executables prefix folder out)
  file(GLOB sources CONFIGURE_DEPENDS "${folder}/*.cpp")
  set(targets "")
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM name)
    set(target "${prefix}_${name}")
    add_executable(${target} "${source}")
    weft_compile_settings(${target})
    target_compile_definitions(${target} PRIVATE "WEFT_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\"")
    target_link_libraries(${target} PRIVATE weft::weft Threads::Threads)
    list(APPEND targets ${target})
  endforeach()
  set(${out} "${targets}" PARENT_SCOPE)
endfunction()
