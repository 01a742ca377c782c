"""Runs in gdb: unwinds what stack_oracle has stopped, until that goes away.

Each packet says the last stack, leaf first, as "PC,PC,…;END", and is answered
once the target is at another instruction. END is empty where gdb calls the end
of the stack the outermost frame, or does not know of one further out.
"""

import re

import gdb

MAX_FRAMES = 512
# What gdb adds by debug data: inlined functions, and callers that a tail call
# has replaced. No return address is theirs.
NOT_ON_THE_STACK = (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME)
# Reasons from this one on are those for which bt says "Backtrace stopped".
FIRST_ERROR = gdb.FRAME_UNWIND_UNAVAILABLE


def walk():
    pcs = []
    frame = gdb.newest_frame()
    while frame is not None and len(pcs) < MAX_FRAMES:
        if frame.type() not in NOT_ON_THE_STACK:
            pcs.append(frame.pc())
        older = frame.older()
        if older is None and frame.unwind_stop_reason() >= FIRST_ERROR:
            return pcs, "error"
        frame = older
    return pcs, ""


def say_stack():
    try:
        pcs, end = walk()
    except gdb.error:
        pcs, end = [gdb.newest_frame().pc()], "error"
    return ",".join(f"{pc:x}" for pc in pcs) + ";" + end


def add_vdso():
    """By a remote target gdb does not find it."""
    place = re.search(r"AT_SYSINFO_EHDR.*(0x\w+)",
                      gdb.execute("info auxv", to_string=True))
    if place:
        gdb.execute(f"add-symbol-file-from-memory {place[1]}", to_string=True)


def main():
    add_vdso()
    connection = gdb.selected_inferior().connection
    said = ""
    while True:
        try:
            reply = connection.send_packet("qUnspoolStack:" + said)
        except gdb.error:  # stack_oracle has ended
            return
        if reply == b"remapped":
            gdb.execute("sharedlibrary", to_string=True)
        gdb.execute("maintenance flush dcache", to_string=True)
        gdb.execute("maintenance flush register-cache", to_string=True)
        said = say_stack()


main()
