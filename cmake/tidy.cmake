# `cmake --build … --target tidy`: clang-tidy over the product's sources, as
# .clang-tidy says. Minutes, hence not part of a build.

find_program(UNSPOOL_RUN_CLANG_TIDY run-clang-tidy)
if(UNSPOOL_RUN_CLANG_TIDY)
  add_custom_target(tidy
    COMMAND ${UNSPOOL_RUN_CLANG_TIDY} -quiet -p ${CMAKE_BINARY_DIR}
      "^${PROJECT_SOURCE_DIR}/(unwind|collectors|exporters|profiler)/.*[.]cc$"
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    USES_TERMINAL VERBATIM)
  # Headers that the build generates.
  add_dependencies(tidy unspool_profile_proto)
endif()
