#include "exporters/report_json.h"

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <system_error>

namespace unspool::exporters {
namespace {

// Length of the UTF-8 sequence that `text` begins with; 0 if it is none
// (RFC 3629 §4).
size_t Utf8Size(std::string_view text) {
  const auto byte = [&text](size_t i) -> uint32_t {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const uint32_t lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  uint32_t code = lead & (0xff >> (size + 1));
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  const bool is_overlong =
      (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  return is_overlong || is_surrogate || code > 0x10ffff ? 0 : size;
}

std::string JsonString(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const size_t size = Utf8Size(text);
    const auto c = static_cast<unsigned char>(text[0]);
    if (size == 0) {
      out += "\\ufffd";
    } else if (c < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04x", c);
      out += escape;
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += text.substr(0, size);
    }
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return out + "\"";
}

// What the recording counted; nothing of profiles of other makers.
void WriteCount(const Profile& profile, const std::string& key,
                std::ostream& out) {
  const auto text = profile.FindComment("unspool." + key);
  if (!text) return;
  uint64_t count = 0;
  const char* end = text->data() + text->size();
  const auto [rest, error] = std::from_chars(text->data(), end, count);
  if (error != std::errc() || rest != end) return;
  out << ", \"" << key << "\": " << count;
}

void WriteHead(const ReportContext& context, int64_t total, std::ostream& out) {
  const Profile& profile = context.profile;
  const ValueType& type = profile.sample_types[context.value_index];
  out << "{\"type\": " << JsonString(profile.strings[type.type])
      << ", \"unit\": " << JsonString(profile.strings[type.unit])
      << ", \"total\": " << total
      << ", \"duration_ns\": " << profile.duration_ns;
  for (const char* key : {"samples", "truncated", "lost"}) {
    WriteCount(profile, key, out);
  }
  if (const auto command = profile.FindComment("unspool.command")) {
    out << ", \"command\": " << JsonString(*command);
  }
}

}  // namespace

void WriteTableJson(const ReportContext& context, const FunctionTable& table,
                    std::ostream& out) {
  WriteHead(context, table.total, out);
  out << ", \"functions\": [";
  const char* separator = "\n";
  for (const FunctionRow& row : table.rows) {
    out << separator
        << "{\"name\": " << JsonString(context.names.name(row.name))
        << ", \"flat\": " << row.flat << ", \"cum\": " << row.cum
        << ", \"inlined\": " << (row.inlined ? "true" : "false") << "}";
    separator = ",\n";
  }
  out << "\n]}\n";
}

void WriteTreeJson(const ReportContext& context, const CallTree& calls,
                   std::ostream& out) {
  WriteHead(context, TotalValue(context.profile, context.value_index), out);
  out << ", \"nodes\": [";
  const char* separator = "\n";
  const std::vector<StackTree::Node>& nodes = calls.tree.nodes();
  for (size_t i = 1; i < nodes.size(); ++i) {
    out << separator
        << "{\"name\": " << JsonString(context.names.name(nodes[i].name))
        << ", \"parent\": " << int64_t{nodes[i].parent} - 1
        << ", \"flat\": " << nodes[i].self << ", \"cum\": " << calls.cum[i]
        << "}";
    separator = ",\n";
  }
  out << "\n]}\n";
}

}  // namespace unspool::exporters
