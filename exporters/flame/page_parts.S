// The page's parts, as they stand in page/: text, without a zero behind it.

        .section .rodata

        .macro part name, files:vararg
        .globl unspool_flame_\name
unspool_flame_\name:
        .irp file, \files
        .incbin "\file"
        .endr
        .globl unspool_flame_\name\()_end
unspool_flame_\name\()_end:
        .endm

        part html, "page.html"
        part css, "page.css"
        part js, "data.js", "tree.js", "text.js", "colors.js", "search.js", "canvas.js", "spoken.js", "panel.js", "app.js", "input.js"

        .section .note.GNU-stack, "", @progbits
