// gdb's remote serial protocol, the stub's side: packets as "$data#checksum",
// each acknowledged by '+' (gdb manual, "Remote Protocol", "Overview").

#ifndef UNSPOOL_TESTS_ORACLE_GDB_PACKETS_H_
#define UNSPOOL_TESTS_ORACLE_GDB_PACKETS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace unspool::oracle {

// Two digits a byte.
std::string ToHex(std::span<const uint8_t> bytes);

// A packet with `data`, where the characters that frame packets are escaped.
std::string ToPacket(std::string_view data);

// Removes the first packet, and what lies before it, from the front of
// `received`, and returns its data; nullopt if none is complete, or its
// checksum is wrong. gdb escapes nothing in what it asks here.
std::optional<std::string> TakePacket(std::string* received);

}  // namespace unspool::oracle

#endif  // UNSPOOL_TESTS_ORACLE_GDB_PACKETS_H_
