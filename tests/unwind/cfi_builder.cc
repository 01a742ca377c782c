#include "tests/unwind/cfi_builder.h"

namespace unspool::unwind {
namespace {

void Append(Bytes& to, const Bytes& from) {
  to.insert(to.end(), from.begin(), from.end());
}

std::string Offset(const char* base, int64_t value) {
  return base + std::string(value < 0 ? "" : "+") + std::to_string(value);
}

std::string RuleText(const RegisterRule& rule) {
  const std::string number = std::to_string(rule.register_or_size);
  switch (rule.kind) {
    case RuleKind::kUnspecified:
      return "";
    case RuleKind::kUndefined:
      return "undef";
    case RuleKind::kSameValue:
      return "same";
    case RuleKind::kOffset:
      return Offset("c", rule.value);
    case RuleKind::kValOffset:
      return Offset("v", rule.value);
    case RuleKind::kRegister:
      return "r" + number;
    case RuleKind::kExpression:
      return "exp[" + number + "]";
    case RuleKind::kValExpression:
      return "vexp[" + number + "]";
  }
  return "?";
}

}  // namespace

void CfiBuilder::Number(uint64_t value, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    bytes_.push_back(static_cast<uint8_t>(value >> (8 * i)));
  }
}

size_t CfiBuilder::IdSize() const {
  return is_64bit_ && section_.format == CfiFormat::kDebugFrame ? 8 : 4;
}

uint64_t CfiBuilder::AddEntry(uint64_t id, const Bytes& body) {
  const uint64_t address = Here();
  const uint64_t length = IdSize() + body.size();
  if (is_64bit_) Number(0xffffffff, 4);
  Number(length, is_64bit_ ? 8 : 4);
  Number(id, IdSize());
  Append(bytes_, body);
  return address;
}

uint64_t CfiBuilder::AddCie(const CieSpec& spec) {
  Bytes body = {spec.version};
  for (const char letter : spec.augmentation) {
    body.push_back(static_cast<uint8_t>(letter));
  }
  body.push_back(0);
  if (spec.version == 4) Append(body, spec.version_4_fields);
  Append(body, spec.code_alignment);
  Append(body, spec.data_alignment);
  Append(body, spec.ra_register);
  has_augmentation_ = spec.augmentation.starts_with('z');
  is_pcrel_ = spec.augmentation.starts_with("zR");
  if (has_augmentation_) {
    body.push_back(static_cast<uint8_t>(spec.augmentation_data.size()));
    Append(body, spec.augmentation_data);
  }
  Append(body, spec.instructions);
  cie_ =
      AddEntry(section_.format == CfiFormat::kEhFrame ? 0 : ~uint64_t{0}, body);
  return cie_;
}

uint64_t CfiBuilder::AddFde(const FdeSpec& spec) {
  const uint64_t id_address = Here() + (is_64bit_ ? 12 : 4);
  const uint64_t id = section_.format == CfiFormat::kEhFrame
                          ? id_address - cie_
                          : cie_ - section_.address;
  CfiBuilder body(id_address + IdSize());
  if (is_pcrel_) {
    body.Number(spec.pc_begin - body.Here(), 4);
    body.Number(spec.size, 4);
  } else {
    body.Number(spec.pc_begin, 8);
    body.Number(spec.size, 8);
  }
  if (has_augmentation_) {
    body.bytes_.push_back(static_cast<uint8_t>(spec.augmentation_data.size()));
    Append(body.bytes_, spec.augmentation_data);
  }
  Append(body.bytes_, spec.instructions);
  return AddEntry(id, body.bytes_);
}

uint64_t CfiBuilder::AddRaw(const Bytes& bytes) {
  const uint64_t address = Here();
  Append(bytes_, bytes);
  return address;
}

std::string RowText(const CfiRow<X86_64>& row) {
  std::string text = "cfa=";
  switch (row.cfa.kind) {
    case CfaRule::Kind::kNone:
      text += "none";
      break;
    case CfaRule::Kind::kRegisterOffset:
      text += "r" + Offset(std::to_string(row.cfa.register_or_size).c_str(),
                           row.cfa.value);
      break;
    case CfaRule::Kind::kExpression:
      text += "exp[" + std::to_string(row.cfa.register_or_size) + "]";
      break;
  }
  for (size_t i = 0; i < row.registers.size(); ++i) {
    const std::string rule = RuleText(row.registers[i]);
    if (!rule.empty()) text += " r" + std::to_string(i) + "=" + rule;
  }
  return text;
}

}  // namespace unspool::unwind
