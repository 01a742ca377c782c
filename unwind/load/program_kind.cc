#include "unwind/load/program_kind.h"

#include <elf.h>
#include <errno.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <span>

#include "unwind/load/elf_file.h"
#include "unwind/load/elf_note.h"
#include "unwind/load/mapped_file.h"

namespace unspool::unwind {
namespace {

constexpr char kGlibcLoader[] = "ld-linux-x86-64.so.2";
constexpr char kMuslLoaderPrefix[] = "ld-musl-";

// The kernel looks for the `#!` line in this many bytes (BINPRM_BUF_SIZE).
constexpr size_t kScriptHeadSize = 256;

using Bytes = std::span<const uint8_t>;

// Copies `size` bytes and a NUL; false if they do not fit or are not a string.
bool CopyString(Bytes source, std::span<char> out) {
  if (source.empty() || source.size() >= out.size() ||
      memchr(source.data(), '\0', source.size()) != nullptr) {
    return false;
  }
  memcpy(out.data(), source.data(), source.size());
  out[source.size()] = '\0';
  return true;
}

bool IsScript(Bytes bytes) {
  return bytes.size() >= 2 && bytes[0] == '#' && bytes[1] == '!';
}

// The interpreter's path of a `#!` line: what follows blanks, up to the next
// blank, newline, NUL or end of file. As in the kernel's load_script(), a path
// that the head cuts off is refused.
bool CopyScriptInterpreter(Bytes bytes, std::span<char> out) {
  const Bytes head = bytes.first(
      bytes.size() < kScriptHeadSize ? bytes.size() : kScriptHeadSize);
  const auto is_blank = [](uint8_t c) { return c == ' ' || c == '\t'; };
  size_t begin = 2;
  while (begin < head.size() && is_blank(head[begin])) ++begin;
  size_t end = begin;
  while (end < head.size() && !is_blank(head[end]) && head[end] != '\n' &&
         head[end] != '\0') {
    ++end;
  }
  const bool cut_off = end == head.size() && bytes.size() > head.size();
  return !cut_off && CopyString(head.subspan(begin, end - begin), out);
}

// The DT_SONAME of a shared object equals `name`.
bool SonameIs(const ElfFile& elf, const char* name) {
  const auto dynamic_header = elf.FindProgramHeader(PT_DYNAMIC);
  if (!dynamic_header) return false;
  const auto dynamic = elf.Contents(*dynamic_header);
  if (!dynamic) return false;
  std::optional<uint64_t> soname, strings;
  for (size_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic->bytes.size();
       at += sizeof(Elf64_Dyn)) {
    Elf64_Dyn entry;
    memcpy(&entry, dynamic->bytes.data() + at, sizeof(entry));
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_SONAME) soname = entry.d_un.d_val;
    if (entry.d_tag == DT_STRTAB) strings = entry.d_un.d_ptr;
  }
  if (!soname || !strings) return false;
  const auto string = elf.LoadedFrom(*strings + *soname);
  const size_t size = strlen(name) + 1;
  return string && string->bytes.size() >= size &&
         memcmp(string->bytes.data(), name, size) == 0;
}

const char* BaseName(const char* path) {
  const char* const slash = strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

ProgramKind KindOfLoader(const char* loader) {
  const char* const name = BaseName(loader);
  if (strcmp(name, kGlibcLoader) == 0) return ProgramKind::kGlibc;
  if (strncmp(name, kMuslLoaderPrefix, strlen(kMuslLoaderPrefix)) == 0) {
    return ProgramKind::kMusl;
  }
  return ProgramKind::kOtherLoader;
}

// As the kernel's load_elf_binary() decides. A loader started by name has no
// PT_INTERP but loads its argument as it would load a program.
ProgramKind KindOfElf(const ElfFile& elf, std::span<char> loader) {
  if (elf.machine() != EM_X86_64) return ProgramKind::kOtherMachine;
  if ((elf.type() != ET_EXEC && elf.type() != ET_DYN) ||
      !elf.FindProgramHeader(PT_LOAD)) {
    return ProgramKind::kBadElf;
  }
  if (const auto interp = elf.FindProgramHeader(PT_INTERP)) {
    const auto path = elf.Contents(*interp);
    if (!path || path->bytes.empty() || path->bytes.back() != '\0' ||
        !CopyString(path->bytes.first(path->bytes.size() - 1), loader)) {
      return ProgramKind::kBadElf;
    }
    return KindOfLoader(loader.data());
  }
  if (SonameIs(elf, kGlibcLoader)) return ProgramKind::kGlibc;
  return elf.type() == ET_EXEC ? ProgramKind::kStatic : ProgramKind::kStaticPie;
}

bool HasAgent(const ElfFile& elf) {
  for (size_t i = 0; i < elf.program_header_count(); ++i) {
    const Elf64_Phdr header = elf.ProgramHeader(i);
    const auto notes =
        header.p_type == PT_NOTE ? elf.Contents(header) : std::nullopt;
    if (notes && FindNote(notes->bytes, header.p_align, kAgentNoteOwner,
                          kAgentNoteType)) {
      return true;
    }
  }
  return false;
}

ProgramKind KindOfBytes(Bytes bytes, Program* program) {
  ElfFile elf;
  switch (elf.Parse(bytes)) {
    case ElfError::kNone:
      program->has_agent = HasAgent(elf);
      return KindOfElf(elf, program->loader);
    case ElfError::kNotElf:
      return ProgramKind::kNotElf;
    case ElfError::kWrongClass:
    case ElfError::kWrongByteOrder:
      return ProgramKind::kOtherMachine;
    default:
      return ProgramKind::kBadElf;
  }
}

// When the kernel sets AT_SECURE (cap_bprm_creds_from_file()): the effective id
// would differ from the real one, or a caller other than root gets
// capabilities. Set-group-ID without group execute means something else.
PrivilegeGain GainOf(const char* path, const struct stat& status,
                     const Caller& caller) {
  if (caller.no_new_privs) return PrivilegeGain::kNone;
  struct statvfs mount;
  if (statvfs(path, &mount) == 0 && (mount.f_flag & ST_NOSUID) != 0) {
    return PrivilegeGain::kNone;
  }
  if ((status.st_mode & S_ISUID) != 0 && status.st_uid != caller.uid) {
    return PrivilegeGain::kSetUid;
  }
  constexpr mode_t kSetGid = S_ISGID | S_IXGRP;
  if ((status.st_mode & kSetGid) == kSetGid && status.st_gid != caller.gid) {
    return PrivilegeGain::kSetGid;
  }
  if (caller.uid != 0 &&
      getxattr(path, "security.capability", nullptr, 0) > 0) {
    return PrivilegeGain::kFileCapabilities;
  }
  return PrivilegeGain::kNone;
}

void SetFailure(int error, Program* program) {
  program->kind = error == ENOENT || error == ENOTDIR
                      ? ProgramKind::kNotFound
                      : ProgramKind::kUnreadable;
  program->error = error;
}

// Looks at program->file. Returns true if it is a script; then program->file is
// its interpreter, to be looked at next.
bool InspectOne(const Caller& caller, Program* program) {
  struct stat status;
  if (stat(program->file, &status) != 0) {
    SetFailure(errno, program);
    return false;
  }
  if (!S_ISREG(status.st_mode)) {
    program->kind = ProgramKind::kNotRegular;
    return false;
  }
  MappedFile mapping;
  if (const int error = mapping.Open(program->file); error != 0) {
    SetFailure(error, program);
    return false;
  }
  if (IsScript(mapping.bytes())) {
    char interpreter[kScriptHeadSize];
    if (!CopyScriptInterpreter(mapping.bytes(), interpreter)) {
      program->kind = ProgramKind::kNotElf;
      return false;
    }
    memcpy(program->file, interpreter, strlen(interpreter) + 1);
    return true;
  }
  program->kind = KindOfBytes(mapping.bytes(), program);
  program->privilege_gain = GainOf(program->file, status, caller);
  return false;
}

}  // namespace

Caller CurrentCaller() {
  return {.uid = getuid(),
          .gid = getgid(),
          .no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1};
}

void InspectProgram(const char* path, const Caller& caller, Program* program) {
  *program = Program();
  const size_t size = strlen(path) + 1;
  if (size > sizeof(program->file)) {
    SetFailure(ENAMETOOLONG, program);
    return;
  }
  memcpy(program->file, path, size);
  while (InspectOne(caller, program)) {
    if (program->script_levels == kMaxScriptLevels) {
      program->kind = ProgramKind::kTooManyScripts;
      return;
    }
    ++program->script_levels;
  }
}

const char* ProgramKindText(ProgramKind kind) {
  switch (kind) {
    case ProgramKind::kGlibc:
      return "is dynamically linked with glibc";
    case ProgramKind::kStatic:
    case ProgramKind::kStaticPie:
      return "is statically linked";
    case ProgramKind::kMusl:
      return "is linked with musl, not glibc";
    case ProgramKind::kOtherLoader:
      return "is run by a loader other than glibc's";
    case ProgramKind::kOtherMachine:
      return "is for another machine than x86-64";
    case ProgramKind::kBadElf:
      return "is a damaged ELF file, or not a program";
    case ProgramKind::kNotElf:
      return "is neither an ELF program nor a script";
    case ProgramKind::kTooManyScripts:
      return "is one script interpreter too many";
    case ProgramKind::kNotFound:
      return "does not exist";
    case ProgramKind::kNotRegular:
      return "is not a regular file";
    case ProgramKind::kUnreadable:
      return "cannot be read";
  }
  return "is of an unknown kind";
}

const char* PrivilegeGainText(PrivilegeGain gain) {
  switch (gain) {
    case PrivilegeGain::kNone:
      return "gains no privileges";
    case PrivilegeGain::kSetUid:
      return "is set-user-ID";
    case PrivilegeGain::kSetGid:
      return "is set-group-ID";
    case PrivilegeGain::kFileCapabilities:
      return "has file capabilities";
  }
  return "gains unknown privileges";
}

}  // namespace unspool::unwind
