# bin/unspool, the agent as lib/libunspool.so and .a, <unspool/….h>, and for
# CMake users find_package(unspool) with unspool::agent and
# unspool::agent_static. The tool finds the agent beside itself: moving the whole
# prefix is fine.

include(CMakePackageConfigHelpers)

install(TARGETS unspool RUNTIME DESTINATION bin)
install(TARGETS unspool_agent unspool_agent_static
  LIBRARY DESTINATION lib ARCHIVE DESTINATION lib)
install(DIRECTORY profiler/include/unspool DESTINATION include
  FILES_MATCHING PATTERN "*.h")

write_basic_package_version_file(
  ${CMAKE_CURRENT_BINARY_DIR}/unspoolConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES cmake/unspoolConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/unspoolConfigVersion.cmake
  DESTINATION lib/cmake/unspool)
