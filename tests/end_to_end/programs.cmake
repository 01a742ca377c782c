# The programs of programs/, as build/<preset>/end_to_end/<name>.

set(e2e_dir ${CMAKE_BINARY_DIR}/end_to_end)
set(e2e_source_dir ${CMAKE_CURRENT_SOURCE_DIR}/programs)
set(e2e_outputs)
file(MAKE_DIRECTORY ${e2e_dir})

# e2e_build(OUTPUT COMPILER FLAGS... [SOURCES a.c ...] [DEPENDS ...]): one
# compiler run from sources to a program or library. DEPENDS are libraries (or
# objects) that are linked as well. The rpath finds what lies beside it.
function(e2e_build output compiler)
  cmake_parse_arguments(arg "" "" "FLAGS;SOURCES;DEPENDS" ${ARGN})
  list(TRANSFORM arg_SOURCES PREPEND ${e2e_source_dir}/
    REGEX "^[^/]")
  list(TRANSFORM arg_DEPENDS PREPEND ${e2e_dir}/ REGEX "^[^/$]")
  add_custom_command(OUTPUT ${e2e_dir}/${output}
    COMMAND ${compiler} -Wall -Wextra -Werror -I${e2e_source_dir}
      ${arg_FLAGS} ${arg_SOURCES} ${arg_DEPENDS} -o ${e2e_dir}/${output}
    DEPENDS ${arg_SOURCES} ${arg_DEPENDS} ${e2e_source_dir}/burn.h
      ${e2e_source_dir}/blocking_calls.h ${e2e_source_dir}/plt_functions.h
    COMMENT "End-to-end program ${output}"
    VERBATIM)
  set(e2e_outputs ${e2e_outputs} ${e2e_dir}/${output} PARENT_SCOPE)
endfunction()

set(gcc ${UNSPOOL_E2E_GCC})
set(gxx ${UNSPOOL_E2E_GXX})
set(clang ${UNSPOOL_E2E_CLANG})
set(musl ${UNSPOOL_E2E_MUSL})
set(clangxx ${UNSPOOL_E2E_CLANGXX})
set(rpath "-Wl,-rpath,$ORIGIN")

e2e_build(exception_storm ${gxx} FLAGS -std=c++20 -O2 -pthread
  SOURCES exception_storm.cc)
e2e_build(exception_storm_fp ${gxx} FLAGS -std=c++20 -O2 -pthread
  -fno-omit-frame-pointer SOURCES exception_storm.cc)
e2e_build(jump_loops ${gcc} FLAGS -O2 SOURCES jump_loops.c)
e2e_build(epilogue_cfi ${gcc} FLAGS -O2
  SOURCES epilogue_cfi_main.c epilogue_cfi.S)
e2e_build(wrong_cfi ${gcc} FLAGS -O2 SOURCES wrong_cfi.c wrong_cfi_spin.S)
e2e_build(iconv_churn ${gcc} FLAGS -O2 SOURCES iconv_churn.c)
e2e_build(machine_state ${gcc} FLAGS -O2 SOURCES machine_state.c)
e2e_build(libc_callbacks ${gxx} FLAGS -std=c++20 -O2 -fomit-frame-pointer
  SOURCES libc_callbacks.cc)
e2e_build(libc_callbacks_fp ${gxx} FLAGS -std=c++20 -O2
  -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer
  SOURCES libc_callbacks.cc)
e2e_build(tiny_leaf_O0 ${gcc} FLAGS -O0 SOURCES tiny_leaf.c)
e2e_build(tiny_leaf_O2 ${gcc} FLAGS -O2 SOURCES tiny_leaf.c)
e2e_build(jit ${gcc} FLAGS -O2 SOURCES jit.c)
e2e_build(registered_code ${gcc} FLAGS -O2 -pthread
  -I${PROJECT_SOURCE_DIR}/profiler/include SOURCES registered_code.c)
# Objects that a program puts into memory and tells debuggers of.
e2e_build(jit_function.o ${gcc} FLAGS -c -O2 -fno-pic SOURCES jit_function.c)
e2e_build(jit_function_debug_frame.o ${gcc} SOURCES jit_function.c
  FLAGS -c -O2 -g -fno-pic -fno-asynchronous-unwind-tables)
e2e_build(jit_objects ${gcc} FLAGS -O2 -rdynamic SOURCES jit_objects.c)
e2e_build(jit_objects_local ${gcc} FLAGS -O2 SOURCES jit_objects.c)
set(plt_flags -fcf-protection -Wl,-z,lazy -Wl,-z,ibtplt)
e2e_build(libplt_callee.so ${gcc} FLAGS -O1 -fPIC -shared SOURCES plt_callee.c)
e2e_build(libplt_caller.so ${gcc} FLAGS -O1 -fPIC -shared ${plt_flags} ${rpath}
  SOURCES plt_caller.c DEPENDS libplt_callee.so)
e2e_build(plt_calls ${gcc} FLAGS -O2 ${plt_flags} ${rpath}
  SOURCES plt_calls.c DEPENDS libplt_callee.so)
e2e_build(gmp_multiply ${gcc} FLAGS -O2 -Wl,--no-as-needed -lgmp
  SOURCES gmp_multiply.c)
e2e_build(deep_frames ${gcc} FLAGS -O2 SOURCES deep_frames.c)
e2e_build(many_stacks ${gcc} FLAGS -O2 SOURCES many_stacks.c)
e2e_build(very_deep ${gcc} FLAGS -O2 SOURCES very_deep.c)
e2e_build(noreturn_call ${gcc} FLAGS -O2 -falign-functions=1
  -fno-toplevel-reorder SOURCES noreturn_call.c)
e2e_build(realigned ${gcc} FLAGS -O2 -mstackrealign -mforce-drap
  SOURCES realigned.c)
e2e_build(expression_main ${gcc} FLAGS -O2
  SOURCES expression_main.c saved_by_expression.S)
e2e_build(equal_shares ${gcc} FLAGS -O2 -pthread SOURCES equal_shares.c)
e2e_build(worker_threads ${gxx} FLAGS -std=c++20 -O2 -g -pthread
  SOURCES worker_threads.cc)
e2e_build(exec_functions ${gcc} FLAGS -O2 SOURCES exec_functions.c)
e2e_build(thread_kinds ${gcc} FLAGS -O2 -pthread SOURCES thread_kinds.c)
e2e_build(thread_churn ${gxx} FLAGS -std=c++20 -O2 -pthread
  SOURCES thread_churn.cc)
e2e_build(process_churn ${gcc} FLAGS -O2 -pthread SOURCES process_churn.c)
e2e_build(liballocator_bootstrap.so ${gxx} FLAGS -std=c++20 -O2 -fPIC -shared
  -fvisibility=hidden -fno-builtin SOURCES allocator_bootstrap.cc)
e2e_build(backtraces ${gcc} FLAGS -O2 -pthread SOURCES backtraces.c)
e2e_build(stale_stacks ${gcc} FLAGS -O2 -pthread
  SOURCES stale_stacks.c wrong_cfi_spin.S spin_without_cfi.S)
e2e_build(small_threads ${gcc} FLAGS -O2 -pthread SOURCES small_threads.c)
e2e_build(blocked_calls ${gcc} FLAGS -O2 -pthread SOURCES blocked_calls.c)
e2e_build(signal_owner ${gcc} FLAGS -O2 -pthread SOURCES signal_owner.c)
e2e_build(self_profiled ${gcc} FLAGS -O2 -pthread -pg SOURCES totals.c)
e2e_build(blocked_thread ${gcc} FLAGS -O2 -pthread SOURCES blocked_thread.c)
e2e_build(nested_handlers ${gcc} FLAGS -O2 SOURCES nested_handlers.c)
e2e_build(first_instruction ${gcc} FLAGS -O2
  SOURCES first_instruction_main.c first_instruction.S)
foreach(sanitizer address thread undefined)
  e2e_build(sanitized_gcc_${sanitizer} ${gxx} SOURCES exception_storm.cc
    FLAGS -std=c++20 -O1 -pthread -fsanitize=${sanitizer})
  e2e_build(sanitized_clang_${sanitizer} ${clangxx} SOURCES exception_storm.cc
    FLAGS -std=c++20 -O1 -pthread -fsanitize=${sanitizer})
endforeach()
e2e_build(clock_reader ${gcc} FLAGS -O2 SOURCES clock_reader.c)
e2e_build(loaded_by_name ${gcc} FLAGS -O2 -g SOURCES loaded_by_name.c)
e2e_build(odd_addresses ${gcc} FLAGS -O2 -g SOURCES odd_addresses.c)
e2e_build(no_build_id ${gcc} FLAGS -O2 -pthread -Wl,--build-id=none
  SOURCES totals.c)
e2e_build(forks ${gcc} FLAGS -O2 SOURCES forks.c)
e2e_build(dies ${gcc} FLAGS -O2 SOURCES dies.c)
e2e_build(odd_ends ${gcc} FLAGS -O2 SOURCES odd_ends_main.c odd_ends.S)
e2e_build(system_time ${gcc} FLAGS -O2 SOURCES system_time.c)
e2e_build(musl_spin ${musl} FLAGS -O2 -static SOURCES musl_spin.c)
e2e_build(painted_stacks ${gxx} FLAGS -std=c++20 -O2 -fno-omit-frame-pointer
  -pthread SOURCES painted_stacks.cc)
e2e_build(handler_guard.so ${gcc} FLAGS -O2 -fPIC -shared -fvisibility=hidden
  SOURCES handler_guard.c)
e2e_build(guard_trial ${gcc} FLAGS -O2 SOURCES guard_trial.c)
file(MAKE_DIRECTORY ${e2e_dir}/held_locks)
e2e_build(held_locks/held_locks ${gcc} FLAGS -O2 -pthread -rdynamic
  SOURCES held_locks.c)
e2e_build(held_locks/libholds.so ${gcc} FLAGS -O2 -fPIC -shared -DHOLDS
  SOURCES held_locks_library.c)
e2e_build(held_locks/liblater_burn.so ${gcc} FLAGS -O2 -fPIC -shared
  SOURCES held_locks_library.c)
e2e_build(seccomp_filter ${gcc} FLAGS -O2 -pthread SOURCES seccomp_filter.c)
e2e_build(totals ${gcc} FLAGS -O2 -pthread SOURCES totals.c)
set(own_agent $<TARGET_FILE:unspool_agent_static> ${UNSPOOL_ZLIB_ARCHIVE}
  ${UNSPOOL_ZSTD_ARCHIVE})
e2e_build(totals_own_agent ${gcc} SOURCES totals.c DEPENDS ${own_agent}
  FLAGS -O2 -pthread -Wl,--undefined=unspool_start)
e2e_build(totals_static ${gcc} SOURCES totals.c DEPENDS ${own_agent}
  FLAGS -O2 -pthread -static -s -Wl,--undefined=unspool_start)

# Call-frame information in .debug_frame only; 64-bit DWARF; beside objects with
# .eh_frame.
set(no_eh_frame -g -fno-asynchronous-unwind-tables -fno-pie -no-pie)
foreach(level O0 O2)
  e2e_build(debug_frame_${level} ${gcc} SOURCES chain.c chain_inner.c
    FLAGS -${level} ${no_eh_frame})
endforeach()
e2e_build(debug_frame_pie ${gcc} SOURCES chain.c chain_inner.c
  FLAGS -O2 -g -fno-asynchronous-unwind-tables -fPIE -pie)
e2e_build(debug_frame_64 ${gcc} SOURCES chain.c chain_inner.c
  FLAGS -O2 ${no_eh_frame} -gdwarf64 -fno-dwarf2-cfi-asm)
# At two addresses, as one build: what prelink(8) makes of a file.
e2e_build(debug_frame_unmoved ${gcc} SOURCES chain.c chain_inner.c
  FLAGS -O2 ${no_eh_frame} -Wl,--build-id=0x0123456789abcdef)
e2e_build(debug_frame_moved ${gcc} SOURCES chain.c chain_inner.c
  FLAGS -O2 ${no_eh_frame} -Wl,--build-id=0x0123456789abcdef
    -Wl,-Ttext-segment=0x10000000)
e2e_build(chain_inner.o ${gcc} SOURCES chain_inner.c
  FLAGS -c -O2 ${no_eh_frame})
e2e_build(debug_frame_mixed ${gcc} SOURCES chain.c DEPENDS chain_inner.o
  FLAGS -O2 -g -no-pie)

# .eh_frame in the usual place, then without what finds it, or none at all.
e2e_build(chain ${gcc} FLAGS -O2 -g SOURCES chain.c chain_inner.c)
e2e_build(chain_no_eh_frame_hdr ${gcc} SOURCES chain.c chain_inner.c
  FLAGS -O2 -g -Wl,--no-eh-frame-hdr)
e2e_build(chain_no_cfi ${gcc} SOURCES chain.c chain_inner.c
  FLAGS -O2 -fno-asynchronous-unwind-tables -fno-exceptions)
e2e_build(chain_old_frames ${gcc} SOURCES chain.c chain_inner.c
  FLAGS -O0 -g -fno-asynchronous-unwind-tables)
# The same as a library that is loaded later.
set(plugin SOURCES chain.c chain_inner.c
  FLAGS -O2 -g -fPIC -shared -Dmain=chain_main)
e2e_build(libchain.so ${gcc} ${plugin})
e2e_build(libchain_no_hdr.so ${gcc} ${plugin} -Wl,--no-eh-frame-hdr)
e2e_build(libchain_debug_frame.so ${gcc} ${plugin}
  -fno-asynchronous-unwind-tables)
e2e_build(chain_plugin ${gcc} FLAGS -O2 ${rpath} SOURCES chain_plugin.c)
e2e_build(huge_text ${gcc} SOURCES chain.c chain_inner.c huge_text.c
  FLAGS -O2 -g)
# Three executable segments; one of them 5 GiB behind the others, which no
# linker's search table can say.
set(far_away -O2 -g -DFAR_AWAY -no-pie -fno-pie)
e2e_build(chain_segments ${gcc} SOURCES chain.c chain_inner.c
  FLAGS ${far_away} -Wl,--section-start=.far=0x2000000
    -Wl,--section-start=.farther=0x3000000)
e2e_build(chain_5_gib ${gcc} SOURCES chain.c chain_inner.c
  FLAGS ${far_away} -mcmodel=large -fno-dwarf2-cfi-asm -Wl,--no-eh-frame-hdr
    -Wl,--section-start=.far=0x140000000)
# bfd says of such .eh_frame that it makes no search table, and then keeps all
# of it; gold drops what is empty, lld and mold what is at 0.
set(odd_ranges SOURCES odd_ranges_main.c odd_ranges.S
  FLAGS -O2 -no-pie -fno-pie)
e2e_build(odd_ranges_bfd ${gcc} ${odd_ranges} -fuse-ld=bfd
  -Wl,--traditional-format -Wl,--no-eh-frame-hdr)
foreach(linker gold lld mold)
  e2e_build(odd_ranges_${linker} ${gcc} ${odd_ranges} -fuse-ld=${linker})
endforeach()
foreach(kind static static-pie)
  e2e_build(jit_objects_${kind} ${gcc} SOURCES jit_objects.c
    DEPENDS ${own_agent} FLAGS -O2 -${kind} -Wl,--undefined=unspool_start)
  e2e_build(chain_${kind} ${gcc} SOURCES chain.c chain_inner.c
    DEPENDS ${own_agent} FLAGS -O2 -g -${kind} -Wl,--undefined=unspool_start)
  e2e_build(debug_frame_${kind} ${gcc} SOURCES chain.c chain_inner.c
    DEPENDS ${own_agent} FLAGS -O2 -g -fno-asynchronous-unwind-tables -${kind}
      -Wl,--undefined=unspool_start)
endforeach()

# One program and library in every segment layout, by one compiler.
function(e2e_layout name)
  cmake_parse_arguments(arg "NO_PIE" "" "FLAGS" ${ARGN})
  set(pie -fPIE -pie)
  if(arg_NO_PIE)
    set(pie -fno-PIE -no-pie)
  endif()
  file(MAKE_DIRECTORY ${e2e_dir}/${name})
  e2e_build(${name}/libfoo.so ${clang} SOURCES foo_library.c
    FLAGS -O2 -g -fPIC -shared -Wl,-soname,libfoo.so ${arg_FLAGS})
  e2e_build(${name}/foo_main ${clang} SOURCES foo_main.c
    FLAGS -O2 -g ${pie} ${arg_FLAGS} ${rpath} DEPENDS ${name}/libfoo.so)
  set(e2e_outputs ${e2e_outputs} PARENT_SCOPE)
endfunction()
e2e_layout(layout_bfd FLAGS -fuse-ld=bfd)
e2e_layout(layout_gold FLAGS -fuse-ld=gold)
e2e_layout(layout_lld FLAGS -fuse-ld=lld)
e2e_layout(layout_lld_no_pie NO_PIE FLAGS -fuse-ld=lld)
e2e_layout(layout_lld_separate_code
  FLAGS -fuse-ld=lld -Wl,-z,separate-code)
e2e_layout(layout_lld_no_rosegment FLAGS -fuse-ld=lld -Wl,--no-rosegment)
e2e_layout(layout_mold FLAGS -fuse-ld=mold)
e2e_layout(layout_mold_no_rosegment FLAGS -fuse-ld=mold -Wl,--no-rosegment)
e2e_layout(layout_mold_separate_code
  FLAGS -fuse-ld=mold -Wl,-z,separate-code)
e2e_layout(layout_mold_icf FLAGS -fuse-ld=mold -Wl,--icf=all)

# Libraries of equal size and layout, and a program that calls each by a
# function of its own.
function(e2e_churn name)
  cmake_parse_arguments(arg "" "COUNT;ITERATIONS" "FLAGS;BIG" ${ARGN})
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/${name})
  set(definitions "")
  set(table "")
  math(EXPR last "${arg_COUNT} - 1")
  foreach(index RANGE ${last})
    set(N ${index})
    if(index LESS 10)
      set(N 0${index})
    endif()
    configure_file(${e2e_source_dir}/churn_library.c.in
      ${generated}/lib${N}.c @ONLY)
    file(MAKE_DIRECTORY ${e2e_dir}/${name})
    e2e_build(${name}/lib${N}.so ${gcc} SOURCES ${generated}/lib${N}.c
      FLAGS -O2 -fPIC -shared ${arg_FLAGS} DEPENDS ${arg_BIG})
    string(APPEND definitions "DEFINE_CALLS(${N})\n")
    string(APPEND table "    {\"lib${N}.so\", open_${N}, call_${N}},\n")
  endforeach()
  set(NAME ${name})
  set(COUNT ${arg_COUNT})
  set(ITERATIONS ${arg_ITERATIONS})
  set(DEFINITIONS ${definitions})
  set(TABLE ${table})
  configure_file(${e2e_source_dir}/churn_main.c.in ${generated}/main.c @ONLY)
  e2e_build(${name}/${name} ${gcc} SOURCES ${generated}/main.c
    FLAGS -O2 -fno-ipa-icf -pthread)
  set(e2e_outputs ${e2e_outputs} PARENT_SCOPE)
endfunction()
e2e_churn(churn COUNT 50 ITERATIONS 200000)
e2e_build(big_relro.o ${gcc} FLAGS -c SOURCES big_relro.S)
e2e_churn(relocation COUNT 4 ITERATIONS 8000000 BIG big_relro.o)

foreach(name wall_waits wall_idle wall_exits)
  # Frames that depend on rbp, which of a thread that waits is not known.
  e2e_build(${name} ${gcc} FLAGS -O0 -D_GNU_SOURCE -pthread SOURCES ${name}.c)
endforeach()

add_custom_target(end_to_end_programs ALL DEPENDS ${e2e_outputs})
