# doctest::doctest, from the system (Debian and Ubuntu: doctest-dev), else the same release fetched by its commit.
find_package(doctest 2.4 QUIET CONFIG)
if(NOT TARGET doctest::doctest)
  message(STATUS "doctest is not installed (package doctest-dev): fetching v2.4.9")
  include(FetchContent)
  # One header is all we need; a SOURCE_SUBDIR without a CMakeLists.txt keeps doctest's own build out of ours.
  FetchContent_Declare(doctest GIT_REPOSITORY https://github.com/doctest/doctest.git
    GIT_TAG b7c21ec5ceeadb4951b00396fc1e4642dd347e5f  # v2.4.9
    SOURCE_SUBDIR doctest/parts)
  FetchContent_MakeAvailable(doctest)
  add_library(weft_doctest INTERFACE)
  target_include_directories(weft_doctest SYSTEM INTERFACE "${doctest_SOURCE_DIR}")
  add_library(doctest::doctest ALIAS weft_doctest)
endif()
