# OpenBLAS is a yardstick for the benchmarks only; nothing else of Weft may link it. WEFT_HAVE_OPENBLAS: whether it is there.
find_library(WEFT_OPENBLAS_LIBRARY openblas)
find_path(WEFT_CBLAS_INCLUDE_DIR cblas.h PATH_SUFFIXES openblas openblas-pthread)
mark_as_advanced(WEFT_OPENBLAS_LIBRARY WEFT_CBLAS_INCLUDE_DIR)
set(WEFT_HAVE_OPENBLAS OFF)
if(WEFT_OPENBLAS_LIBRARY AND WEFT_CBLAS_INCLUDE_DIR)
  set(WEFT_HAVE_OPENBLAS ON)
endif()

# weft_link_openblas(<target>): links OpenBLAS, or does nothing where there is none.
function(weft_link_openblas target)
  if(WEFT_HAVE_OPENBLAS)
    target_include_directories(${target} SYSTEM PRIVATE "${WEFT_CBLAS_INCLUDE_DIR}")
    target_link_libraries(${target} PRIVATE "${WEFT_OPENBLAS_LIBRARY}")
  endif()
endfunction()
