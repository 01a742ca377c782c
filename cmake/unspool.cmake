# What every target of ours shares: warnings, include root, and the flags of the
# signal fence.

set(UNSPOOL_SANITIZE "" CACHE STRING
    "Sanitizers for every target, as -fsanitize= takes them (presets set it)")

find_program(UNSPOOL_CCACHE ccache)
if(UNSPOOL_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${UNSPOOL_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${UNSPOOL_CCACHE})
endif()

# Debian's archives are position-independent: the agent links them in, hidden,
# and needs no library of the target's. Not liblzma, which only the tool uses.
find_library(UNSPOOL_ZLIB_ARCHIVE libz.a REQUIRED)
find_library(UNSPOOL_ZSTD_ARCHIVE libzstd.a REQUIRED)
find_library(UNSPOOL_LZMA_ARCHIVE liblzma.a REQUIRED)

add_library(unspool_options INTERFACE)
target_include_directories(unspool_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(unspool_options INTERFACE
  $<$<COMPILE_LANGUAGE:C,CXX>:-Wall -Wextra -Werror -Wshadow -Wvla
    -Wimplicit-fallthrough>
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual>)
if(UNSPOOL_SANITIZE)
  target_compile_options(unspool_options INTERFACE
    -fsanitize=${UNSPOOL_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  target_link_options(unspool_options INTERFACE
    -fsanitize=${UNSPOOL_SANITIZE})
endif()

# Code that libunspool.so links: nothing that needs libstdc++ at run time.
add_library(unspool_agent_options INTERFACE)
target_link_libraries(unspool_agent_options INTERFACE unspool_options)
target_compile_options(unspool_agent_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti -fno-threadsafe-statics>
  $<$<COMPILE_LANGUAGE:C,CXX>:-fvisibility=hidden -ftls-model=initial-exec>)

# The signal fence: code that may run inside our signal handler. Sanitizers
# grow frames, so the frame limit holds only without them.
add_library(unspool_fence_options INTERFACE)
target_link_libraries(unspool_fence_options INTERFACE unspool_agent_options)
if(NOT UNSPOOL_SANITIZE)
  target_compile_options(unspool_fence_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wframe-larger-than=1536>)
endif()

# unspool_add_test(NAME SOURCES... [LIBS ...] [LABELS ...]): a GoogleTest binary
# whose cases ctest sees one by one.
function(unspool_add_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS;LABELS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE unspool_options ${arg_LIBS}
    GTest::gmock GTest::gtest_main)
  # What is tested is optimized as users get it; GoogleTest's templates around
  # it would take most of the build's time.
  if(NOT UNSPOOL_SANITIZE)
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O0;-g1>)
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST
    PROPERTIES LABELS "${arg_LABELS}")
endfunction()

# unspool_add_python_tests(PREFIX FILE BASE [LABELS ...] [TIMEOUT S] [SERIAL]):
# one ctest test PREFIX.Class per class of test_FILE.py in the current folder
# whose first base matches the regular expression BASE, so that none is missed.
function(unspool_add_python_tests prefix file base)
  cmake_parse_arguments(arg "SERIAL" "TIMEOUT" "LABELS" ${ARGN})
  set(path ${CMAKE_CURRENT_SOURCE_DIR}/test_${file}.py)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
  file(STRINGS ${path} lines REGEX "^class [A-Za-z0-9]+\\(${base}[,)]")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^class ([A-Za-z0-9]+).*" "\\1" class ${line})
    add_test(NAME ${prefix}.${class}
      COMMAND ${Python3_EXECUTABLE} -B -m unittest test_${file}.${class}
      WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    set_tests_properties(${prefix}.${class} PROPERTIES
      LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT}
      ENVIRONMENT "UNSPOOL_BUILD_DIR=${CMAKE_BINARY_DIR}")
    if(arg_SERIAL)
      set_tests_properties(${prefix}.${class} PROPERTIES RUN_SERIAL ON)
    endif()
  endforeach()
endfunction()
