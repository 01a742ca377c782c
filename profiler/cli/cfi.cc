#include "profiler/cli/cfi.h"

#include <elf.h>

#include <cstdint>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "exporters/export.h"
#include "profiler/cli/cfi_dump.h"
#include "profiler/cli/cfi_sections.h"
#include "profiler/cli/message.h"
#include "unwind/load/elf_file.h"
#include "unwind/load/mapped_file.h"

namespace unspool::profiler {
namespace {

std::string Hex(uint64_t value) {
  char text[2 + 16 + 1];
  snprintf(text, sizeof(text), "0x%lx", value);
  return text;
}

void Open(const std::string& path, unwind::MappedFile* file,
          unwind::ElfFile* elf) {
  const auto fail = [&path](const std::string& why) {
    throw Failure(kExitFailure, "cannot read " + Quoted(path) + ": " + why +
                                    "; give a program, library or object file");
  };
  if (const int error = file->Open(path.c_str()); error != 0) {
    fail(ErrnoText(error));
  }
  if (const auto error = elf->Parse(file->bytes());
      error != unwind::ElfError::kNone) {
    fail(unwind::ElfErrorText(error));
  }
  if (elf->machine() != EM_X86_64) fail("for another CPU than x86-64");
}

// What is wrong in a section that was dumped; empty if nothing is.
std::string Fault(const CfiContents& contents, const CfiDumpResult& result) {
  if (!contents.error.empty()) return contents.name + " " + contents.error;
  if (result.bad_entries == 0) return "";
  return contents.name + " is malformed at offset " +
         Hex(result.first_bad_offset) +
         (result.bad_entries > 1
              ? " and at " + std::to_string(result.bad_entries - 1) + " more"
              : "") +
         (result.is_cut ? "; the rest cannot be read" : "");
}

struct Outcome {
  size_t sections = 0;
  size_t fdes = 0;
  std::string fault;  // the first
};

Outcome DumpFile(const unwind::ElfFile& elf, const CfiOptions& options,
                 std::ostream& out) {
  Outcome outcome;
  ForEachCfiSection(elf, [&](const CfiContents& contents) {
    ++outcome.sections;
    CfiDumpResult result;
    if (contents.error.empty()) {
      result = DumpCfi(contents, {options.is_raw, options.pc}, out);
    }
    outcome.fdes += result.fdes;
    if (outcome.fault.empty()) outcome.fault = Fault(contents, result);
  });
  return outcome;
}

}  // namespace

int RunCfi(const CfiOptions& options) {
  unwind::MappedFile file;
  unwind::ElfFile elf;
  Open(options.file, &file, &elf);
  Outcome outcome;
  const absl::Status written = exporters::WriteStdout([&](std::ostream& out) {
    outcome = DumpFile(elf, options, out);
    return absl::OkStatus();
  });
  if (!written.ok()) {
    throw Failure(kExitFailure,
                  "cannot write " + std::string(written.message()));
  }
  const std::string name = Quoted(options.file);
  if (!outcome.fault.empty()) {
    throw Failure(kExitFailure, name + ": " + outcome.fault);
  }
  if (outcome.sections == 0 && elf.section_error() != unwind::ElfError::kNone) {
    throw Failure(kExitFailure,
                  name + ": " + unwind::ElfErrorText(elf.section_error()));
  }
  if (outcome.sections == 0) {
    throw Failure(kExitFailure,
                  name +
                      " has no call-frame information: neither .eh_frame nor "
                      ".debug_frame");
  }
  if (options.pc && outcome.fdes == 0) {
    throw Failure(kExitFailure, name + ": no FDE covers " + Hex(*options.pc) +
                                    "; give an address as the file has it");
  }
  return kExitOk;
}

}  // namespace unspool::profiler
