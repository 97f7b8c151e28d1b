#include "models/gguf.h"

#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "catch.h"
#include "models/gguf_file.h"

namespace ropewalk::test {
namespace {

using Reason = GgufReason;

constexpr uint32_t kU8 = 0, kU32 = 4, kBoolValue = 7, kText = 8, kArray = 9, kU64 = 10;
constexpr uint32_t kF32 = 0, kQ8_0 = 8;

// What all refusals below differ from in one thing: metadata, two tensors, a hole of padding between them.
GgufParts parts() {
  GgufParts made;
  made.entries = {ggufEntry("general.architecture", kText, ggufText("llama")), ggufEntry("n", kU32, le(7u))};
  made.tensors = {ggufTensor("a", {3}, kF32, 0), ggufTensor("b", {32, 2}, kQ8_0, 32)};
  return made;
}
constexpr size_t kDataBytes = 32 + 68;

std::string nameOf(const GgufTensor& t) {
  return {t.name, t.name_bytes};
}

void checkIsGood(const GgufHeader& header, size_t header_bytes) {
  REQUIRE(header.size() == 2);
  REQUIRE(header.entryCount() == 2);
  CHECK(header.bytes() == header_bytes);
  const uint64_t data = (header_bytes + 31) / 32 * 32;
  CHECK(nameOf(header[0]) == "a");
  CHECK((header[0].type == GgufType::kF32 && header[0].rank == 1 && header[0].shape[0] == 3));
  CHECK((header[0].begin == data && header[0].end == data + 12));
  CHECK(nameOf(header[1]) == "b");
  CHECK((header[1].type == GgufType::kQ8_0 && header[1].rank == 2));
  CHECK((header[1].shape[0] == 2 && header[1].shape[1] == 32));
  CHECK((header[1].block == 32 && header[1].block_bytes == 34));
  CHECK((header[1].begin == data + 32 && header[1].end == data + 32 + 68));
}

// The file is refused for this reason, and the header that was read before is kept.
GgufFault refusalOf(const std::string& file) {
  const std::string good = ggufFile(parts(), kDataBytes);
  GgufHeader header;
  GgufFault fault;
  const std::vector<char> held(good.begin(), good.end());
  REQUIRE(header.parse(held.data(), held.size(), held.size(), &fault) == Status::kOk);
  CHECK(parseGguf(file, file.size(), file.size(), header, &fault) == Status::kInvalidArgument);
  checkIsGood(header, ggufHeader(parts()).size());
  CHECK(fault.at <= file.size());
  return fault;
}

std::string faultyText(const std::string& file, const GgufFault& fault) {
  return file.substr(fault.name_at, fault.name_bytes);
}

void checkEntry(const std::string& key, uint32_t type, const std::string& value, Reason reason) {
  CAPTURE(key, type, static_cast<int>(reason));
  GgufParts made = parts();
  made.entries.push_back(ggufEntry(key, type, value));
  const std::string file = ggufFile(made, kDataBytes);
  const GgufFault fault = refusalOf(file);
  CHECK(fault.reason == reason);
  if (reason == Reason::kEmptyKey) return;
  CHECK(faultyText(file, fault) == key);
  CHECK_FALSE(fault.in_tensor);
}

void checkTensor(const std::string& bytes, Reason reason) {
  CAPTURE(static_cast<int>(reason));
  GgufParts made = parts();
  made.tensors[1] = bytes;
  const std::string file = ggufFile(made, kDataBytes);
  const GgufFault fault = refusalOf(file);
  CHECK(fault.reason == reason);
  CHECK(faultyText(file, fault) == "b");
  CHECK(fault.in_tensor);
}

void checkCount(size_t at, uint64_t count, Reason reason) {
  CAPTURE(at, count);
  std::string file = ggufFile(parts(), kDataBytes);
  file.replace(at, 8, le(count));
  const GgufFault fault = refusalOf(file);
  CHECK(fault.reason == reason);
  CHECK((fault.at == at && fault.found == count && fault.wanted < count));
}

}  // namespace

TEST_CASE("The header of a GGUF file is read in both versions and with any alignment", "[models]") {
  for (const uint32_t version : {2u, 3u}) {
    GgufParts made = parts();
    made.version = version;
    const std::string file = ggufFile(made, kDataBytes);
    const std::vector<char> bytes(file.begin(), file.end());
    GgufHeader header;
    GgufFault fault;
    REQUIRE(header.parse(bytes.data(), bytes.size(), bytes.size(), &fault) == Status::kOk);
    CHECK(header.version() == version);
    checkIsGood(header, ggufHeader(made).size());
    const GgufEntry& number = header.entry(1);
    CHECK(std::string(number.key, number.key_bytes) == "n");
    CHECK((number.type == GgufValueType::kUint32 && number.count == 1 && bytes[number.at] == 7));
  }
  for (const uint32_t alignment : {1u, 8u, 64u, 4096u, 1u << 31}) {
    CAPTURE(alignment);
    GgufParts made;
    made.alignment = alignment > 4096 ? 1 : alignment;
    made.entries = {ggufEntry("general.alignment", kU32, le(alignment))};
    if (alignment <= 4096) {
      const uint64_t second = alignment < 12 ? (12 + alignment - 1) / alignment * alignment : alignment;
      made.tensors = {ggufTensor("a", {3}, kF32, 0), ggufTensor("b", {1}, kF32, second)};
    }
    const std::string file = ggufFile(made, alignment + 64 > 8192 ? 0 : alignment + 64);
    const std::vector<char> bytes(file.begin(), file.end());
    GgufHeader header;
    GgufFault fault;
    REQUIRE(header.parse(bytes.data(), bytes.size(), bytes.size(), &fault) == Status::kOk);
    for (size_t i = 0; i < header.size(); ++i) CHECK(header[i].begin % alignment == 0);
  }
}

TEST_CASE("A value of every type is found where it lies in the file", "[models]") {
  constexpr size_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  for (uint32_t type = 0; type < std::size(sizes); ++type) {
    CAPTURE(type);
    if (type == kArray) continue;
    const std::string one = type == kText ? ggufText("h\xC3\xA9") : std::string(sizes[type], '\1');
    GgufParts made;
    made.entries = {ggufEntry("one", type, one), ggufEntry("none", kArray, ggufArray(type, 0, "")),
                    ggufEntry("three", kArray, ggufArray(type, 3, one + one + one))};
    const std::string file = ggufFile(made, 0);
    const std::vector<char> bytes(file.begin(), file.end());
    GgufHeader header;
    GgufFault fault;
    REQUIRE(header.parse(bytes.data(), bytes.size(), bytes.size(), &fault) == Status::kOk);
    REQUIRE(header.entryCount() == 3);
    const auto element = static_cast<GgufValueType>(type);
    CHECK((header.entry(0).type == element && header.entry(0).count == 1));
    CHECK((header.entry(1).type == GgufValueType::kArray && header.entry(1).element == element));
    CHECK(header.entry(1).count == 0);
    CHECK((header.entry(2).element == element && header.entry(2).count == 3));
    CHECK(file.substr(header.entry(0).at, one.size()) == one);
    CHECK(file.substr(header.entry(2).at, 3 * one.size()) == one + one + one);
  }
}

TEST_CASE("Scalars and empty tensors have a place in a GGUF file", "[models]") {
  GgufParts made;
  made.entries = {ggufEntry("k", kArray, ggufArray(kU32, 2, le(1u) + le(2u)))};
  made.tensors = {ggufTensor("scalar", {}, kF32, 32), ggufTensor("z", {4, 0}, kF32, 32),
                  ggufTensor("a", {0}, kF32, 32), ggufTensor("first", {3}, kF32, 0)};
  const std::string file = ggufFile(made, 36);
  GgufHeader header;
  GgufFault fault;
  REQUIRE(header.parse(file.data(), file.size(), file.size(), &fault) == Status::kOk);
  REQUIRE(header.size() == 4);
  const uint64_t data = (header.bytes() + 31) / 32 * 32;
  // In the order of their data, empty ones before what begins where they lie, and in the order of the file.
  const char* names[] = {"first", "z", "a", "scalar"};
  const uint64_t bytes[] = {12, 0, 0, 4};
  for (size_t i = 0; i < 4; ++i) {
    CAPTURE(i);
    CHECK(nameOf(header[i]) == names[i]);
    CHECK(header[i].begin == data + (i == 0 ? 0 : 32));
    CHECK(header[i].end - header[i].begin == bytes[i]);
  }
  CHECK(header[3].rank == 0);
  // A header that is cut anywhere asks for more.
  for (size_t size = 0; size < header.bytes(); ++size) {
    GgufHeader cut;
    CHECK(parseGguf(file, size, file.size(), cut, &fault) == Status::kInvalidArgument);
    CHECK(fault.reason == Reason::kMore);
  }
  // Of a block format a scalar is less than a block.
  checkTensor(ggufTensor("b", {}, kQ8_0, 32), Reason::kBlock);
}

TEST_CASE("A tensor of each format takes the bytes of its blocks", "[models]") {
  struct Format {
    uint32_t number, block;
    size_t bytes;
  };
  // The fields of ggml's blocks, added up: scales, then quants.
  const Format formats[] = {
      {0, 1, 4},
      {1, 1, 2},
      {2, 32, 2 + 16},
      {3, 32, 2 + 2 + 16},
      {6, 32, 2 + 4 + 16},
      {7, 32, 2 + 2 + 4 + 16},
      {8, 32, 2 + 32},
      {9, 32, 2 + 2 + 32},
      {10, 256, 16 + 2 + 2 + 64},
      {11, 256, 12 + 2 + 32 + 64},
      {12, 256, 2 + 2 + 12 + 128},
      {13, 256, 2 + 2 + 12 + 32 + 128},
      {14, 256, 16 + 2 + 128 + 64},
      {15, 256, 4 + 32 + 256},
      {16, 256, 2 + 64},
      {17, 256, 2 + 8 + 64},
      {18, 256, 2 + 96},
      {19, 256, 2 + 16 + 32},
      {20, 32, 2 + 16},
      {21, 256, 2 + 4 + 32 + 8 + 64},
      {22, 256, 2 + 8 + 8 + 64},
      {23, 256, 2 + 2 + 4 + 128},
      {24, 1, 1},
      {25, 1, 2},
      {26, 1, 4},
      {27, 1, 8},
      {28, 1, 8},
      {29, 256, 8 + 32 + 16},
      {30, 1, 2},
      {34, 256, 2 + 48 + 4},
      {35, 256, 2 + 64},
      {39, 32, 1 + 16},
      {40, 64, 4 + 32},
      {41, 128, 2 + 16},
      {42, 64, 2 + 16},
  };
  REQUIRE(std::size(formats) == static_cast<size_t>(GgufType::kQ2_0) + 1);
  for (const auto& [number, block, bytes] : formats) {
    CAPTURE(number);
    GgufParts made;
    made.tensors = {ggufTensor("a", {uint64_t{3} * block, 2}, number, 0)};
    const std::string file = ggufFile(made, 6 * bytes);
    GgufHeader header;
    GgufFault fault;
    REQUIRE(header.parse(file.data(), file.size(), file.size(), &fault) == Status::kOk);
    CHECK((header[0].block == block && header[0].block_bytes == bytes));
    CHECK(header[0].end - header[0].begin == uint64_t{6} * bytes);
  }
}

TEST_CASE("Of several names that come twice in a GGUF file the first in the file is told", "[models]") {
  const auto entry = [](const char* key) { return ggufEntry(key, kU32, le(7u)); };
  for (const auto& keys : {std::vector<const char*>{"b", "a", "b", "a"}, {"a", "b", "a", "b"}}) {
    GgufParts made = parts();
    made.entries.clear();
    for (const char* key : keys) made.entries.push_back(entry(key));
    const std::string file = ggufFile(made, kDataBytes);
    const GgufFault fault = refusalOf(file);
    CHECK((fault.reason == Reason::kDuplicate && !fault.in_tensor));
    CHECK(faultyText(file, fault) == keys[0]);
    const std::string key = ggufText(keys[0]);
    CHECK(fault.name_at == file.find(key, file.find(key) + 1) + 8);

    made = parts();
    made.tensors.clear();
    for (size_t i = 0; i < 4; ++i) made.tensors.push_back(ggufTensor(keys[i], {3}, kF32, 32 * i));
    const std::string tensors = ggufFile(made, 128);
    const GgufFault of_tensor = refusalOf(tensors);
    CHECK((of_tensor.reason == Reason::kDuplicate && of_tensor.in_tensor));
    CHECK(faultyText(tensors, of_tensor) == keys[0]);
  }
}

TEST_CASE("A GGUF header that goes on after the bytes at hand asks for more of them", "[models]") {
  const std::string file = ggufFile(parts(), kDataBytes);
  const size_t header_bytes = ggufHeader(parts()).size();
  for (size_t size = 0; size <= file.size(); ++size) {
    CAPTURE(size);
    for (const uint64_t file_bytes : {uint64_t{file.size()}, kUnknownBytes}) {
      GgufHeader header;
      GgufFault fault;
      const Status status = parseGguf(file, size, file_bytes, header, &fault);
      CHECK((status == Status::kOk) == (size >= header_bytes));
      if (status == Status::kOk) continue;
      CHECK(fault.reason == Reason::kMore);
      CHECK((fault.wanted > size && fault.wanted <= header_bytes));
    }
    if (size == file.size()) continue;
    // A file that ends there.
    const GgufFault fault = refusalOf(file.substr(0, size));
    CHECK(fault.reason != Reason::kMore);
    if (size >= header_bytes) CHECK(fault.reason == Reason::kDataPastEnd);
  }
}

TEST_CASE("What does not begin as a GGUF file of version 2 or 3 is refused", "[models]") {
  const std::string good = ggufFile(parts(), kDataBytes);
  CHECK(refusalOf("<!doctype html><p>Not found").reason == Reason::kMagic);
  CHECK(refusalOf("lmgg" + good.substr(4)).reason == Reason::kMagic);
  for (const uint32_t version : {0u, 1u, 4u, 0x80000000u}) {
    const GgufFault fault = refusalOf("GGUF" + le(version) + good.substr(8));
    CHECK((fault.reason == Reason::kVersion && fault.found == version && fault.at == 4));
  }
  CHECK(refusalOf("GGUF" + le(0x03000000u) + good.substr(8)).reason == Reason::kBigEndian);
}

TEST_CASE("Counts and lengths beyond a GGUF file are refused", "[models]") {
  for (const uint64_t count : {uint64_t{1000}, uint64_t{1} << 32, uint64_t{1} << 63, UINT64_MAX}) {
    checkCount(8, count, Reason::kTensorCount);
    checkCount(16, count, Reason::kEntryCount);
    std::string key = ggufFile(parts(), kDataBytes);
    key.replace(24, 8, le(count));
    CHECK(refusalOf(key).reason == Reason::kTextPastEnd);
    checkEntry("k", kText, le(count), Reason::kTextPastEnd);
    checkEntry("k", kArray, ggufArray(kU8, count, ""), Reason::kArrayPastEnd);
    checkEntry("k", kArray, ggufArray(kU64, count, ""), Reason::kArrayPastEnd);
    checkEntry("k", kArray, ggufArray(kText, count, ""), Reason::kArrayPastEnd);
  }

  // Of a file whose size is not known, no more than the longest header there may be.
  GgufHeader header;
  GgufFault fault;
  const std::string start = "GGUF" + le(3u) + le(uint64_t{0}) + le(uint64_t{1});
  for (const uint64_t length : {kMaxHeaderBytes, kMaxHeaderBytes + 1, uint64_t{1} << 40}) {
    const std::string file = start + le(length) + "k";
    CHECK(parseGguf(file, file.size(), kUnknownBytes, header, &fault) == Status::kInvalidArgument);
    CHECK(fault.reason == Reason::kHeaderTooLong);
  }
}

TEST_CASE("Metadata of a GGUF file that is wrong is refused by its key", "[models]") {
  for (const uint32_t type : {13u, 99u, UINT32_MAX}) checkEntry("k", type, "", Reason::kValueType);
  checkEntry("k", kArray, ggufArray(13, 0, ""), Reason::kValueType);
  checkEntry("k", kArray, ggufArray(kArray, 1, ggufArray(kU8, 1, "x")), Reason::kNestedArray);
  checkEntry("k", kBoolValue, "\2", Reason::kBool);
  checkEntry("k", kArray, ggufArray(kBoolValue, 3, std::string("\0\1\xFF", 3)), Reason::kBool);
  checkEntry("", kU8, "x", Reason::kEmptyKey);
  checkEntry("n", kU8, "x", Reason::kDuplicate);
  checkEntry("k", kText, ggufText("\xFF"), Reason::kNotUtf8);
  checkEntry("general.alignment", kText, ggufText("32"), Reason::kAlignmentType);
  checkEntry("general.alignment", kU64, le(uint64_t{32}), Reason::kAlignmentType);
  checkEntry("general.alignment", kArray, ggufArray(kU32, 1, le(32u)), Reason::kAlignmentType);
  for (const uint32_t alignment : {0u, 3u, 24u, 0x80000001u}) {
    checkEntry("general.alignment", kU32, le(alignment), Reason::kAlignmentSize);
  }
}

TEST_CASE("Tensors of a GGUF file that are wrong are refused by their name", "[models]") {
  checkTensor(ggufTensor("b", {1, 1, 1, 1, 1}, kF32, 32), Reason::kRank);
  checkTensor(ggufTensor("b", {uint64_t{1} << 63, 2}, kF32, 32), Reason::kShape);
  checkTensor(ggufTensor("b", {32, UINT64_MAX}, kQ8_0, 32), Reason::kShape);
  checkTensor(ggufTensor("b", {uint64_t{1} << 33, uint64_t{1} << 33}, kF32, 32), Reason::kSize);
  checkTensor(ggufTensor("b", {32, uint64_t{1} << 40}, kQ8_0, 32), Reason::kDataPastEnd);
  for (const uint64_t row : {31u, 33u}) checkTensor(ggufTensor("b", {row, 2}, kQ8_0, 32), Reason::kBlock);
  for (const uint32_t type : {4u, 5u, 31u, 32u, 33u, 36u, 37u, 38u, 43u, UINT32_MAX}) {
    checkTensor(ggufTensor("b", {32, 2}, type, 32), Reason::kTensorType);
  }
  for (const uint64_t offset : {1u, 16u, 31u, 33u}) {
    checkTensor(ggufTensor("b", {32, 2}, kQ8_0, offset), Reason::kOffset);
  }
  checkTensor(ggufTensor("b", {32, 2}, kQ8_0, 0), Reason::kOverlap);
  checkTensor(ggufTensor("b", {1}, kF32, 64), Reason::kHole);
  for (const uint64_t offset : {uint64_t{1} << 31, uint64_t{1} << 63, UINT64_MAX - 31}) {
    checkTensor(ggufTensor("b", {32, 2}, kQ8_0, offset), Reason::kDataPastEnd);
  }
  GgufParts twice = parts();
  twice.tensors[1] = ggufTensor("a", {32, 2}, kQ8_0, 32);
  const std::string file = ggufFile(twice, kDataBytes);
  const GgufFault fault = refusalOf(file);
  CHECK((fault.reason == Reason::kDuplicate && fault.in_tensor && faultyText(file, fault) == "a"));
  CHECK(file.find(ggufText("a")) != file.rfind(ggufText("a")));
  CHECK(fault.name_at == file.rfind(ggufText("a")) + 8);

  GgufParts text = parts();
  text.tensors[1] = ggufTensor("\xC3(", {32, 2}, kQ8_0, 32);
  CHECK(refusalOf(ggufFile(text, kDataBytes)).reason == Reason::kNotUtf8);
}

}  // namespace ropewalk::test
