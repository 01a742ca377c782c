#include "tests/oracle/gdb_walk.h"

#include <err.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include "tests/oracle/gdb_packets.h"

namespace unspool::oracle {
namespace {

// gdb reads the symbols of all libraries at first.
constexpr int kPatienceMs = 120'000;
constexpr size_t kMaxRead = size_t{16} << 10;
// What gdb_walk.py sends: "qUnspoolStack:PC,PC,…;END".
constexpr std::string_view kStack = "qUnspoolStack:";

// In the order of gdb's amd64 registers; those that are left out are unknown.
std::string AnswerRegisters(const user_regs_struct& user) {
  const uint64_t wide[] = {user.rax, user.rbx, user.rcx, user.rdx, user.rsi,
                           user.rdi, user.rbp, user.rsp, user.r8,  user.r9,
                           user.r10, user.r11, user.r12, user.r13, user.r14,
                           user.r15, user.rip};
  const uint64_t narrow[] = {user.eflags, user.cs, user.ss, user.ds,
                             user.es,     user.fs, user.gs};
  std::vector<uint8_t> bytes;
  for (const uint64_t value : wide) {
    for (int i = 0; i < 8; ++i) bytes.push_back(value >> (8 * i) & 0xff);
  }
  for (const uint64_t value : narrow) {
    for (int i = 0; i < 4; ++i) bytes.push_back(value >> (8 * i) & 0xff);
  }
  return ToHex(bytes);
}

Stack ParseStack(const std::string& said) {
  Stack stack;
  const size_t end = said.find(';');
  std::istringstream pcs(said.substr(0, end));
  for (std::string pc; std::getline(pcs, pc, ',');) {
    stack.pcs.push_back(std::strtoull(pc.c_str(), nullptr, 16));
  }
  if (end != std::string::npos) stack.end = said.substr(end + 1);
  return stack;
}

// A listening socket of the file system, in a directory of its own.
class Listener {
 public:
  Listener() {
    std::string directory =
        (std::filesystem::temp_directory_path() / "stack_oracle.XXXXXX");
    if (mkdtemp(directory.data()) == nullptr) err(2, "%s", directory.c_str());
    directory_ = directory;
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    if (path().size() >= sizeof(address.sun_path)) {
      errx(2, "%s: too long for a socket's name", path().c_str());
    }
    std::ranges::copy(path(), address.sun_path);
    if (bind(fd_, reinterpret_cast<const sockaddr*>(&address),
             sizeof(address)) != 0 ||
        listen(fd_, 1) != 0) {
      err(2, "%s", path().c_str());
    }
  }
  ~Listener() {
    close(fd_);
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  std::string path() const { return directory_ + "/gdb"; }

  // -1 if nobody connects in time.
  int Accept() const {
    pollfd wanted = {fd_, POLLIN, 0};
    if (poll(&wanted, 1, kPatienceMs) != 1) return -1;
    return accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
  }

 private:
  int fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string directory_;
};

}  // namespace

GdbWalk::GdbWalk(const Target& target, const user_regs_struct& registers)
    : target_(target) {
  const Listener listener;
  Start(listener.path());
  socket_ = listener.Accept();
  if (socket_ < 0) errx(2, "gdb does not start");
  Serve(registers);
}

GdbWalk::~GdbWalk() {
  close(socket_);
  kill(gdb_, SIGKILL);
  waitpid(gdb_, nullptr, 0);
}

// Where the target is, which gdb prints, is of no use here; its complaints are.
void GdbWalk::Start(const std::string& socket_path) {
  const std::string program = std::filesystem::read_symlink(
      "/proc/" + std::to_string(target_.pid()) + "/exe");
  std::vector<std::string> words = {"gdb", "-nx", "-batch"};
  for (const std::string& command :
       {std::string("set sysroot /"), std::string("set auto-load no"),
        std::string("set debuginfod enabled off"),
        std::string("set backtrace past-main on"),
        std::string("set print frame-info location"),
        "set remotetimeout " + std::to_string(kPatienceMs / 1000),
        "file " + program, "target remote " + socket_path,
        std::string("source " UNSPOOL_ORACLE_GDB_SCRIPT)}) {
    words.insert(words.end(), {"-ex", command});
  }
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null",
                                   O_WRONLY, 0);
  const int error =
      posix_spawnp(&gdb_, "gdb", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    errx(2, "gdb: %s; scripts/setup test installs it", strerror(error));
  }
}

Stack GdbWalk::Walk(const user_regs_struct& registers) {
  Send(ToPacket(has_remapped_ ? "remapped" : "stopped"));
  has_remapped_ = false;
  return ParseStack(Serve(registers));
}

std::string GdbWalk::Serve(const user_regs_struct& registers) {
  for (;;) {
    const std::string packet = Receive();
    Send("+");
    if (packet.starts_with(kStack)) return packet.substr(kStack.size());
    Send(ToPacket(Answer(packet, registers)));
  }
}

// What is not known is answered by an empty packet.
std::string GdbWalk::Answer(const std::string& packet,
                            const user_regs_struct& registers) const {
  if (packet == "?") return "S05";
  if (packet == "g") return AnswerRegisters(registers);
  if (packet.starts_with('m')) return AnswerMemory(packet);
  if (packet.starts_with('H') || packet == "D") return "OK";
  if (packet == "qAttached") return "1";
  if (packet.starts_with("qSupported")) {
    return "PacketSize=8000;qXfer:auxv:read+";
  }
  if (packet.starts_with("qXfer:auxv:read:")) return AnswerAuxv(packet);
  return "";
}

std::string GdbWalk::AnswerMemory(const std::string& packet) const {
  uint64_t address = 0;
  size_t size = 0;
  if (std::sscanf(packet.c_str(), "m%" SCNx64 ",%zx", &address, &size) != 2) {
    return "E01";
  }
  std::vector<uint8_t> bytes(std::min(size, kMaxRead));
  bytes.resize(target_.Read(address, bytes.data(), bytes.size()));
  return bytes.empty() ? "E01" : ToHex(bytes);
}

std::string GdbWalk::AnswerAuxv(const std::string& packet) const {
  size_t offset = 0;
  if (std::sscanf(packet.c_str(), "qXfer:auxv:read::%zx,", &offset) != 1) {
    return "E01";
  }
  std::ifstream file("/proc/" + std::to_string(target_.pid()) + "/auxv",
                     std::ios::binary);
  const std::string auxv(std::istreambuf_iterator<char>(file), {});
  return "l" + auxv.substr(std::min(offset, auxv.size()));
}

void GdbWalk::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent =
        send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) errx(2, "gdb has ended");
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

std::string GdbWalk::Receive() {
  for (;;) {
    if (auto packet = TakePacket(&received_)) return *std::move(packet);
    pollfd wanted = {socket_, POLLIN, 0};
    if (poll(&wanted, 1, kPatienceMs) != 1) errx(2, "gdb does not answer");
    char bytes[4096];
    const ssize_t size = recv(socket_, bytes, sizeof(bytes), 0);
    if (size <= 0) errx(2, "gdb has ended");
    received_.append(bytes, static_cast<size_t>(size));
  }
}

}  // namespace unspool::oracle
