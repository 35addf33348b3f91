# Installs a build into a prefix of its own, then configures, builds and runs the consumer next to this file against it, and once more
# with the shared library. In: WEFT_BUILD_DIR, WEFT_SHARED, GENERATOR, CXX, CXX_FLAGS (those of the build, so that a sanitizer's run time is linked too).
set(work "${WEFT_BUILD_DIR}/install_test")
file(REMOVE_RECURSE "${work}")

function(step)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "install test: a step failed (${result}): ${ARGV}")
  endif()
endfunction()

step("${CMAKE_COMMAND}" --install "${WEFT_BUILD_DIR}" --prefix "${work}/prefix")
step("${CMAKE_COMMAND}" -G "${GENERATOR}" -S "${CMAKE_CURRENT_LIST_DIR}" -B "${work}/consumer"
  "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}" "-DCMAKE_PREFIX_PATH=${work}/prefix"
  -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF "-DWEFT_SHARED=${WEFT_SHARED}")
step("${CMAKE_COMMAND}" --build "${work}/consumer")
step("${work}/consumer/consumer")
step("${work}/consumer/consumer_shared")
