# find_package(unspool): the agent, to profile a program from inside it.
#
#   unspool::agent         libunspool.so
#   unspool::agent_static  libunspool.a, for static programs; needs those of
#                          zlib and zstd, too

get_filename_component(_unspool_prefix ${CMAKE_CURRENT_LIST_DIR}/../../..
  ABSOLUTE)

if(NOT TARGET unspool::agent)
  add_library(unspool::agent SHARED IMPORTED)
  set_target_properties(unspool::agent PROPERTIES
    IMPORTED_LOCATION ${_unspool_prefix}/lib/libunspool.so
    IMPORTED_SONAME libunspool.so
    INTERFACE_INCLUDE_DIRECTORIES ${_unspool_prefix}/include)

  add_library(unspool::agent_static STATIC IMPORTED)
  set_target_properties(unspool::agent_static PROPERTIES
    IMPORTED_LOCATION ${_unspool_prefix}/lib/libunspool.a
    IMPORTED_LINK_INTERFACE_LANGUAGES C
    INTERFACE_LINK_LIBRARIES "z;zstd"
    INTERFACE_INCLUDE_DIRECTORIES ${_unspool_prefix}/include)
endif()
unset(_unspool_prefix)
