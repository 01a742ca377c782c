#include "unwind/load/program_kind.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/unwind/load/test_elf.h"

namespace unspool::unwind {
namespace {

namespace fs = std::filesystem;

// Programs that the build makes next to this test, in PROGRAM_DIR.
std::string Built(const char* name) {
  return std::string(PROGRAM_DIR) + "/" + name;
}

Program Inspect(const std::string& path, const Caller& caller) {
  Program program;
  InspectProgram(path.c_str(), caller, &program);
  return program;
}
Program Inspect(const std::string& path) {
  return Inspect(path, CurrentCaller());
}

// A directory of files that goes with the test. Beside the built programs, not
// in /tmp, which may be mounted nosuid.
class ProgramKindTest : public ::testing::Test {
 protected:
  ProgramKindTest() {
    std::string name = Built("kind.XXXXXX");
    dir_ = mkdtemp(name.data());
  }
  ~ProgramKindTest() override { fs::remove_all(dir_); }

  std::string Write(const std::string& name, const std::string& contents) {
    const std::string path = dir_ + "/" + name;
    std::ofstream(path, std::ios::binary) << contents;
    fs::permissions(path, fs::perms(0755));
    return path;
  }
  std::string Write(const std::string& name, const TestElf& image) {
    const std::vector<uint8_t> bytes = image.Bytes();
    return Write(name, std::string(bytes.begin(), bytes.end()));
  }
  std::string CopyOf(const char* built, const char* name) {
    const std::string path = dir_ + "/" + name;
    fs::copy_file(Built(built), path);
    return path;
  }

  std::string dir_;
};

TEST_F(ProgramKindTest, NamesTheKindOfBuiltPrograms) {
  struct Row {
    std::string path;
    ProgramKind kind;
    const char* loader;
  };
  const Row rows[] = {
      {"/bin/true", ProgramKind::kGlibc, "/lib64/ld-linux-x86-64.so.2"},
      {Built("dynamic"), ProgramKind::kGlibc, "/lib64/ld-linux-x86-64.so.2"},
      {Built("other_loader"), ProgramKind::kOtherLoader, "/opt/ld-other.so.1"},
      {Built("static"), ProgramKind::kStatic, ""},
      {Built("static_pie"), ProgramKind::kStaticPie, ""},
      {Built("musl"), ProgramKind::kMusl, "/lib/ld-musl-x86_64.so.1"},
      {Built("musl_static"), ProgramKind::kStatic, ""},
      {"/lib64/ld-linux-x86-64.so.2", ProgramKind::kGlibc, ""},
      {Built("object.o"), ProgramKind::kBadElf, ""},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.path);
    const Program program = Inspect(row.path);
    EXPECT_EQ(program.kind, row.kind) << ProgramKindText(program.kind);
    EXPECT_STREQ(program.loader, row.loader);
    EXPECT_EQ(program.file, row.path);
    EXPECT_EQ(program.script_levels, 0);
    EXPECT_EQ(program.error, 0);
    EXPECT_EQ(program.privilege_gain, PrivilegeGain::kNone);
    EXPECT_EQ(program.CanPreload(), row.kind == ProgramKind::kGlibc);
  }
}

TEST_F(ProgramKindTest, NamesTheKindOfFilesThatAreNoProgram) {
  TestElf other_class, other_order, other_machine, cut;
  other_class.header.e_ident[EI_CLASS] = ELFCLASS32;
  other_order.header.e_ident[EI_DATA] = ELFDATA2MSB;
  other_machine.header.e_machine = EM_AARCH64;
  cut.header.e_phoff = 0x10000;
  fs::create_directory(dir_ + "/directory");
  ASSERT_EQ(mkfifo((dir_ + "/fifo").c_str(), 0700), 0);
  fs::create_symlink("circle", dir_ + "/circle");

  struct Row {
    std::string path;
    ProgramKind kind;
    int error;
  };
  const Row rows[] = {
      {Write("text", "echo hello\n"), ProgramKind::kNotElf, 0},
      {Write("empty", ""), ProgramKind::kNotElf, 0},
      {Write("magic",
             "\x7f"
             "ELF"),
       ProgramKind::kBadElf, 0},
      {Write("32_bit", other_class), ProgramKind::kOtherMachine, 0},
      {Write("big_endian", other_order), ProgramKind::kOtherMachine, 0},
      {Write("aarch64", other_machine), ProgramKind::kOtherMachine, 0},
      {Write("cut", cut), ProgramKind::kBadElf, 0},
      {dir_ + "/directory", ProgramKind::kNotRegular, 0},
      {dir_ + "/fifo", ProgramKind::kNotRegular, 0},
      {"/dev/null", ProgramKind::kNotRegular, 0},
      {dir_ + "/missing", ProgramKind::kNotFound, ENOENT},
      {dir_ + "/text/below", ProgramKind::kNotFound, ENOTDIR},
      {dir_ + "/circle", ProgramKind::kUnreadable, ELOOP},
      {std::string(PATH_MAX, 'x'), ProgramKind::kUnreadable, ENAMETOOLONG},
      {"", ProgramKind::kNotFound, ENOENT},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.path);
    const Program program = Inspect(row.path);
    EXPECT_EQ(program.kind, row.kind) << ProgramKindText(program.kind);
    EXPECT_EQ(program.error, row.error);
    EXPECT_FALSE(program.CanPreload());
  }
}

TEST_F(ProgramKindTest, RefusesAnInterpreterThatTheKernelRefuses) {
  struct Row {
    const char* name;
    std::string path;  // PT_INTERP, put where the note was
    ProgramKind kind;
  };
  const Row rows[] = {
      {"good", std::string("/x/ld-musl-x86_64.so.1") + '\0',
       ProgramKind::kMusl},
      {"without a NUL", "/x/ld-musl-x86_64.so.1", ProgramKind::kBadElf},
      {"with two", std::string("/x/ld-musl\0.so.1\0", 17),
       ProgramKind::kBadElf},
      {"empty", "", ProgramKind::kBadElf},
      {"only a NUL", std::string(1, '\0'), ProgramKind::kBadElf},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    TestElf image;
    image.programs[1] =
        TestElf::Program(PT_INTERP, TestElf::kNote, row.path.size());
    std::vector<uint8_t> bytes = image.Bytes();
    ASSERT_LE(row.path.size(), TestElf::kHdr - TestElf::kNote);
    memcpy(bytes.data() + TestElf::kNote, row.path.data(), row.path.size());
    const std::string path =
        Write("interp", std::string(bytes.begin(), bytes.end()));
    EXPECT_EQ(Inspect(path).kind, row.kind);
  }
}

TEST_F(ProgramKindTest, FollowsScriptsToTheirInterpreter) {
  const std::string musl = Built("musl");
  const std::string inner = Write("inner", "#!" + musl + "\n");
  const std::string missing = dir_ + "/missing";
  struct Row {
    const char* name;
    std::string contents;
    ProgramKind kind;
    int levels;
    std::string file;  // where the search ended; empty: at the script
  };
  const Row rows[] = {
      {"shell", "#!/bin/sh\n", ProgramKind::kGlibc, 1, "/bin/sh"},
      {"argument", "#!/bin/sh -e\n", ProgramKind::kGlibc, 1, "/bin/sh"},
      {"blanks", "#! \t /bin/sh\t-e -x\n", ProgramKind::kGlibc, 1, "/bin/sh"},
      {"no newline", "#!/bin/sh", ProgramKind::kGlibc, 1, "/bin/sh"},
      {"two levels", "#!" + inner, ProgramKind::kMusl, 2, musl},
      {"missing", "#!" + missing + "\n", ProgramKind::kNotFound, 1, missing},
      {"return", "#!/bin/sh\r\n", ProgramKind::kNotFound, 1, "/bin/sh\r"},
      {"directory", "#!/\n", ProgramKind::kNotRegular, 1, "/"},
      {"nothing", "#!", ProgramKind::kNotElf, 0, ""},
      {"blank", "#! \n/bin/sh\n", ProgramKind::kNotElf, 0, ""},
      {"too long", "#!/" + std::string(300, 'x'), ProgramKind::kNotElf, 0, ""},
      {"long argument", "#!/bin/sh " + std::string(300, 'x'),
       ProgramKind::kGlibc, 1, "/bin/sh"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const std::string script = Write("script", row.contents);
    const Program program = Inspect(script);
    EXPECT_EQ(program.kind, row.kind) << ProgramKindText(program.kind);
    EXPECT_EQ(program.script_levels, row.levels);
    EXPECT_EQ(program.file, row.file.empty() ? script : row.file);
  }
}

// The errno of executing `path`; 0 if it ran.
int ExecuteErrno(const std::string& path) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    execl(path.c_str(), path.c_str(), nullptr);
    const int error = errno;
    _exit(write(fds[1], &error, sizeof(error)) == sizeof(error) ? 1 : 2);
  }
  close(fds[1]);
  int error = 0;
  if (read(fds[0], &error, sizeof(error)) == 0) error = 0;
  close(fds[0]);
  waitpid(child, nullptr, 0);
  return error;
}

TEST_F(ProgramKindTest, FollowsAsManyScriptsAsTheKernel) {
  std::string below = "/bin/true";
  for (int level = 1; level <= kMaxScriptLevels + 2; ++level) {
    SCOPED_TRACE(level);
    below = Write("script" + std::to_string(level), "#!" + below + "\n");
    const Program program = Inspect(below);
    const bool runs = level <= kMaxScriptLevels;
    EXPECT_EQ(program.kind,
              runs ? ProgramKind::kGlibc : ProgramKind::kTooManyScripts);
    EXPECT_EQ(ExecuteErrno(below), runs ? 0 : ELOOP);
  }
}

TEST_F(ProgramKindTest, TellsWhoWouldGainPrivileges) {
  const std::string file = CopyOf("dynamic", "privileged");
  const std::string script = Write("script", "#!" + file + "\n");
  const Caller owner = {
      .uid = geteuid(), .gid = getegid(), .no_new_privs = false};
  const Caller other_user = {
      .uid = owner.uid + 1, .gid = owner.gid, .no_new_privs = false};
  const Caller other_group = {
      .uid = owner.uid, .gid = owner.gid + 1, .no_new_privs = false};
  const Caller confined = {
      .uid = owner.uid + 1, .gid = owner.gid + 1, .no_new_privs = true};
  struct Row {
    const char* name;
    mode_t mode;
    Caller caller;
    PrivilegeGain gain;
  };
  const Row rows[] = {
      {"plain", 0755, other_user, PrivilegeGain::kNone},
      {"set-uid", 04755, other_user, PrivilegeGain::kSetUid},
      {"set-uid, by its owner", 04755, owner, PrivilegeGain::kNone},
      {"set-uid, no_new_privs", 04755, confined, PrivilegeGain::kNone},
      {"set-gid", 02755, other_group, PrivilegeGain::kSetGid},
      {"set-gid, own group", 02755, other_user, PrivilegeGain::kNone},
      {"set-gid without group execute", 02745, other_group,
       PrivilegeGain::kNone},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    ASSERT_EQ(chmod(file.c_str(), row.mode), 0);
    for (const std::string& path : {file, script}) {
      const Program program = Inspect(path, row.caller);
      EXPECT_EQ(program.kind, ProgramKind::kGlibc);
      EXPECT_EQ(program.privilege_gain, row.gain)
          << PrivilegeGainText(program.privilege_gain);
      EXPECT_EQ(program.CanPreload(), row.gain == PrivilegeGain::kNone);
    }
  }
}

TEST_F(ProgramKindTest, SeesFileCapabilities) {
  const std::string file = CopyOf("dynamic", "capable");
  const struct vfs_cap_data capabilities = {
      .magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE,
      .data = {{.permitted = 1u << CAP_NET_RAW, .inheritable = 0}, {}}};
  // Only root can give them; without them the file is an ordinary one.
  const bool given = setxattr(file.c_str(), "security.capability",
                              &capabilities, sizeof(capabilities), 0) == 0;
  const Caller user = {.uid = 12345, .gid = 12345, .no_new_privs = false};
  EXPECT_EQ(Inspect(file, user).privilege_gain,
            given ? PrivilegeGain::kFileCapabilities : PrivilegeGain::kNone);
  const Caller root = {.uid = 0, .gid = 0, .no_new_privs = false};
  EXPECT_EQ(Inspect(file, root).privilege_gain, PrivilegeGain::kNone);
}

}  // namespace
}  // namespace unspool::unwind
