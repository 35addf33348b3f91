# AsmJit assembles the x86 backend's machine code: from the system (Debian and Ubuntu: libasmjit-dev), else the commit
# that Debian 12 packages, compiled into weft itself so that an installed Weft needs nothing more. Debian's libasmjit.a is
# compiled for executables; a shared library or a Python module that links it needs weft_asmjit_into_module().
option(WEFT_FETCH_ASMJIT "Build AsmJit from its pinned source even if it is installed" OFF)
if(NOT WEFT_FETCH_ASMJIT)
  find_package(asmjit QUIET CONFIG)
endif()
if(NOT TARGET asmjit::asmjit)
  message(STATUS "Fetching AsmJit (to use an installed one: package libasmjit-dev, WEFT_FETCH_ASMJIT=OFF)")
  include(FetchContent)
  # The sources are built below, with our settings; this SOURCE_SUBDIR has no CMakeLists.txt.
  FetchContent_Declare(asmjit GIT_REPOSITORY https://github.com/asmjit/asmjit.git
    GIT_TAG 5b5b0b38775938df4d3779604ff1db60b9a9dcbf  # 2022-12-10, as in Debian 12
    SOURCE_SUBDIR src/asmjit)
  FetchContent_MakeAvailable(asmjit)
  file(GLOB_RECURSE weft_asmjit_sources "${asmjit_SOURCE_DIR}/src/asmjit/*.cpp")
  add_library(weft_asmjit OBJECT ${weft_asmjit_sources})
  set_target_properties(weft_asmjit PROPERTIES CXX_STANDARD 17 POSITION_INDEPENDENT_CODE ON)
  target_include_directories(weft_asmjit SYSTEM PUBLIC "${asmjit_SOURCE_DIR}/src")
  target_compile_definitions(weft_asmjit PUBLIC ASMJIT_STATIC)
endif()

# weft_link_asmjit(<target>): gives the target AsmJit, privately; sets weft_needs_asmjit where users of an installed Weft
# must have AsmJit too: a static library only names what it links.
macro(weft_link_asmjit target)
  if(TARGET weft_asmjit)
    target_sources(${target} PRIVATE "$<TARGET_OBJECTS:weft_asmjit>")
    target_include_directories(${target} SYSTEM PRIVATE "$<TARGET_PROPERTY:weft_asmjit,INTERFACE_INCLUDE_DIRECTORIES>")
    target_compile_definitions(${target} PRIVATE ASMJIT_STATIC)
    target_link_libraries(${target} PRIVATE rt)
  else()
    target_link_libraries(${target} PRIVATE asmjit::asmjit)
    if(BUILD_SHARED_LIBS)
      weft_asmjit_into_module(${target})
    else()
      set(weft_needs_asmjit ON)
    endif()
  endif()
endmacro()

# weft_asmjit_into_module(<target>): for a shared object that links the installed AsmJit. Its symbols become the object's own, and its
# one reference to a variable elsewhere is led back into the object.
macro(weft_asmjit_into_module target)
  if(NOT TARGET weft_asmjit)
    target_sources(${target} PRIVATE "${PROJECT_SOURCE_DIR}/cmake/asmjit_stderr.cpp")
    target_link_options(${target} PRIVATE "LINKER:--exclude-libs,libasmjit.a" "LINKER:--wrap=stderr")
  endif()
endmacro()
