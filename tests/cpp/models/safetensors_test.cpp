#include "models/safetensors.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "catch.h"
#include "models/safetensors_file.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

using Reason = SafetensorsReason;

std::string nameOf(const SafetensorsTensor& t) {
  return {t.name, t.name_bytes};
}

std::vector<uint64_t> shapeOf(const SafetensorsTensor& t) {
  return {t.shape, t.shape + t.rank};
}

std::map<std::string, std::string> pairsOf(const TextMap& map) {
  std::map<std::string, std::string> pairs;
  for (size_t i = 0; i < map.size(); ++i) {
    pairs[{map[i].key, map[i].key_bytes}] = std::string(map[i].value, map[i].value_bytes);
  }
  return pairs;
}

// The header that all refusals below are compared with: two tensors, metadata, something of every kind.
const std::string kHeader =
    R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
    R"("b\n":{"shape":[2,1],"data_offsets":[8,12],"dtype":"BF16"}})";
const std::string kFile = fileOf(kHeader, std::string(12, 'd'));

void checkIsGood(const SafetensorsHeader& header) {
  REQUIRE(header.size() == 2);
  CHECK(nameOf(header[0]) == "a");
  CHECK(nameOf(header[1]) == "b\n");
  CHECK(header[0].dtype == SafetensorsDtype::kF32);
  CHECK(header[1].dtype == SafetensorsDtype::kBf16);
  CHECK(shapeOf(header[0]) == std::vector<uint64_t>{2});
  CHECK(shapeOf(header[1]) == std::vector<uint64_t>{2, 1});
  CHECK((header[0].begin == 0 && header[0].end == 8 && header[1].begin == 8 && header[1].end == 12));
  CHECK(header.dataBytes() == 12);
  CHECK(pairsOf(header.metadata()) == std::map<std::string, std::string>{{"format", "pt"}});
}

// The file is refused for this reason, the place and the tensor's key are told, and what was open stays open.
SafetensorsFault refusalOf(const std::string& file) {
  SafetensorsHeader header;
  SafetensorsFault fault;
  REQUIRE(openFile(kFile, header, &fault) == Status::kOk);
  CHECK(openFile(file, header, &fault) == Status::kInvalidArgument);
  CHECK(fault.reason != Reason::kNone);
  checkIsGood(header);
  return fault;
}

void checkRefused(const std::string& header, const std::string& data, Reason reason, const std::string& at,
                  const std::string& key) {
  INFO(header);
  const SafetensorsFault fault = refusalOf(fileOf(header, data));
  CHECK(fault.reason == reason);
  const size_t place = at == "end" ? header.size() : header.rfind(at);
  CHECK(fault.at == 8 + place);
  CHECK(header.substr(fault.key_at, fault.key_bytes) == (key.empty() ? "" : '"' + key + '"'));
}

const std::string kData16(16, 'd');

std::string dataOf(uint64_t bytes) {
  return std::string(static_cast<size_t>(bytes), 'd');
}

std::string entry(const std::string& fields) {
  return "{\"a\":{" + fields + "}}";
}

}  // namespace

TEST_CASE("A header gives its tensors in the order of their bytes", "[models]") {
  SafetensorsHeader header;
  SafetensorsFault fault;
  REQUIRE(openFile(kFile, header, &fault) == Status::kOk);
  checkIsGood(header);

  const std::string swapped = "{" + tensorText("later", "F32", "1", 4, 8) + "," +
                              tensorText("x", "I8", "0", 4, 4) + "," + tensorText("", "U8", "2,2", 0, 4) +
                              "," + tensorText("scalar", "I64", "", 8, 16) + "}";
  REQUIRE(openFile(fileOf(swapped, kData16), header, &fault) == Status::kOk);
  std::vector<std::string> names;
  for (size_t i = 0; i < header.size(); ++i) names.push_back(nameOf(header[i]));
  CHECK(names == std::vector<std::string>{"", "x", "later", "scalar"});
  CHECK(header[3].rank == 0);
  CHECK(header.metadata().size() == 0);
}

TEST_CASE("A header may be empty, padded, written with white space, and hold fields that nobody knows",
          "[models]") {
  SafetensorsHeader header;
  SafetensorsFault fault;
  for (const std::string text : {"{}", "{ }", "{}    ", "{}\n\t\r "}) {
    CHECK(openFile(fileOf(text, ""), header, &fault) == Status::kOk);
    CHECK(header.size() == 0);
    CHECK(header.dataBytes() == 0);
  }
  const std::string spaced =
      "{ \"a\" :\n{ \"shape\" : [ 2 , 2 ] , \"new\":{\"x\":[1,{}]}, \"dtype\"\t: \"F32\" , "
      "\"data_offsets\" : [ 0 , 16 ] } , \"__metadata__\" : { } } ";
  CHECK(openFile(fileOf(spaced, kData16), header, &fault) == Status::kOk);
  CHECK(shapeOf(header[0]) == std::vector<uint64_t>{2, 2});
}

TEST_CASE("Every kind of number is known with its size", "[models]") {
  const std::vector<std::pair<std::string, uint64_t>> bits = {
      {"BOOL", 8},        {"U8", 8},      {"I8", 8},      {"I16", 16},    {"U16", 16},    {"F16", 16},
      {"BF16", 16},       {"I32", 32},    {"U32", 32},    {"F32", 32},    {"F64", 64},    {"I64", 64},
      {"U64", 64},        {"C64", 64},    {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
      {"F8_E5M2FNUZ", 8}, {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"F4", 4}};
  for (size_t i = 0; i < bits.size(); ++i) {
    const auto& [dtype, size] = bits[i];
    INFO(dtype);
    SafetensorsHeader header;
    SafetensorsFault fault;
    const std::string text = "{" + tensorText("t", dtype, "2,4", 0, size) + "}";
    REQUIRE(openFile(fileOf(text, dataOf(size)), header, &fault) == Status::kOk);
    CHECK(static_cast<size_t>(header[0].dtype) == i);
    checkRefused("{" + tensorText("t", dtype, "2,4", 0, size + 1) + "}", dataOf(size + 1), Reason::kSize,
                 "\"t\"", "t");
    // Three numbers of 4 or 6 bits fill no whole number of bytes.
    const uint64_t three = 3 * size / 8;
    const std::string odd = "{" + tensorText("t", dtype, "3", 0, three) + "}";
    if (size % 8 != 0) {
      checkRefused(odd, dataOf(three), Reason::kPartOfByte, "\"t\"", "t");
    } else {
      CHECK(openFile(fileOf(odd, dataOf(three)), header, &fault) == Status::kOk);
    }
  }
}

TEST_CASE("Names are any JSON strings, decoded", "[models]") {
  const std::vector<std::pair<std::string, std::string>> names = {
      {"__proto__", "__proto__"},
      {"\\u0000", std::string(1, '\0')},
      {"\\\"\\\\\\/", "\"\\/"},
      {"\\ud83d\\ude00", "\xF0\x9F\x98\x80"},
      {"\xF0\x9F\x98\x81", "\xF0\x9F\x98\x81"},
      {"__metadata", "__metadata"},
      {std::string(5000, 'n'), std::string(5000, 'n')}};
  std::string text = "{";
  for (const auto& [written, decoded] : names) text += tensorText(written, "U8", "0", 0, 0) + ",";
  text.back() = '}';
  SafetensorsHeader header;
  SafetensorsFault fault;
  REQUIRE(openFile(fileOf(text, ""), header, &fault) == Status::kOk);
  for (size_t i = 0; i < names.size(); ++i) CHECK(nameOf(header[i]) == names[i].second);
  REQUIRE(openFile(fileOf(R"({"__metadat\u0061__":{"\u006b":"\t"}})", ""), header, &fault) == Status::kOk);
  CHECK(header.size() == 0);
  CHECK(pairsOf(header.metadata()) == std::map<std::string, std::string>{{"k", "\t"}});
}

TEST_CASE("The length of a header is a 64-bit number with a limit", "[models]") {
  const auto read = [](uint64_t n, uint64_t file_bytes) {
    const std::string first = lengthBytes(n);
    size_t bytes = 7;
    SafetensorsFault fault;
    const Status status =
        safetensorsHeaderBytes(reinterpret_cast<const uint8_t*>(first.data()), file_bytes, &bytes, &fault);
    CHECK((status == Status::kOk) == (fault.reason == Reason::kNone));
    CHECK((status == Status::kOk || bytes == 7));
    return status == Status::kOk ? bytes == n ? Reason::kNone : Reason::kSyntax : fault.reason;
  };
  for (uint64_t bytes = 0; bytes < 8; ++bytes) CHECK(read(0, bytes) == Reason::kTooShort);
  CHECK(read(0, 8) == Reason::kNone);
  CHECK(read(1, 8) == Reason::kHeaderPastEnd);
  CHECK(read(1, 9) == Reason::kNone);
  CHECK(read(kMaxHeaderBytes, kMaxHeaderBytes + 8) == Reason::kNone);
  CHECK(read(kMaxHeaderBytes, kMaxHeaderBytes + 7) == Reason::kHeaderPastEnd);
  CHECK(read(kMaxHeaderBytes, kUnknownBytes) == Reason::kNone);
  for (const uint64_t n : {kMaxHeaderBytes + 1, uint64_t{1} << 31, (uint64_t{1} << 32) + 57,
                           (uint64_t{1} << 53) + 1, UINT64_MAX - 3, UINT64_MAX}) {
    CHECK(read(n, 65) == Reason::kHeaderTooLong);
    CHECK(read(n, kUnknownBytes) == Reason::kHeaderTooLong);
  }
}

TEST_CASE("What is not the JSON of a header is refused where it goes wrong", "[models]") {
  for (const char* text : {"", " {}", "null", "1", "[]", "\"a\"", "x", "\xEF\xBB\xBF{}"}) {
    INFO(text);
    CHECK(refusalOf(fileOf(text, kData16)).reason == Reason::kNotAnObject);
  }
  checkRefused("{", "", Reason::kSyntax, "end", "");
  checkRefused("{\"a", "", Reason::kSyntax, "end", "");
  checkRefused("{\"a\"", "", Reason::kSyntax, "end", "");
  checkRefused("{\"a\":", "", Reason::kNotATensor, "end", "a");
  checkRefused("{\"a\":{", "", Reason::kSyntax, "end", "a");
  checkRefused("{\"a\":{\"dtype\"", "", Reason::kSyntax, "end", "a");
  checkRefused("{}x", "", Reason::kSyntax, "x", "");
  checkRefused("{}{", "", Reason::kSyntax, "{", "");
  checkRefused(std::string("{}\0", 3), "", Reason::kSyntax, std::string(1, '\0'), "");
  checkRefused("{},", "", Reason::kSyntax, ",", "");
  checkRefused("{a:1}", "", Reason::kSyntax, "a", "");
  checkRefused("{,}", "", Reason::kSyntax, ",", "");
  checkRefused("{" + tensorText("a", "F32", "4", 0, 16) + ",}", kData16, Reason::kSyntax, "}", "");
  checkRefused("{" + tensorText("a", "F32", "4", 0, 16) + "/**/}", kData16, Reason::kSyntax, "/**/", "");
  checkRefused("{\"a\x01\":{}}", "", Reason::kSyntax, "\x01", "");
  checkRefused("{\"\\x41\":{}}", "", Reason::kSyntax, "x41", "");
  checkRefused("{\"\xC3(\":{}}", "", Reason::kNotUtf8, "\xC3", "");
  checkRefused("{}\xFF", "", Reason::kNotUtf8, "\xFF", "");
  checkRefused("{\"a\":" + std::string(20'000, '[') + "}", "", Reason::kNotATensor, std::string(20'000, '['),
               "a");
  const std::string deep = std::string(129, '[') + std::string(129, ']');
  CHECK(refusalOf(fileOf(entry("\"x\":" + deep), "")).reason == Reason::kSyntax);
}

TEST_CASE("A tensor that is not described as one is refused by its name", "[models]") {
  const std::string dtype = R"("dtype":"F32")";
  const std::string shape = R"("shape":[2,2])";
  const std::string offsets = R"("data_offsets":[0,16])";
  for (const char* value : {"null", "1", "[]", "\"F32\""}) {
    checkRefused("{\"a\":" + std::string(value) + "}", kData16, Reason::kNotATensor, value, "a");
  }
  checkRefused(entry(""), kData16, Reason::kMissing, "\"a\"", "a");
  checkRefused(entry(shape + "," + offsets), kData16, Reason::kMissing, "\"a\"", "a");
  checkRefused(entry(dtype + "," + offsets), kData16, Reason::kMissing, "\"a\"", "a");
  checkRefused(entry(dtype + "," + shape), kData16, Reason::kMissing, "\"a\"", "a");
  for (const char* word : {"\"FLOAT\"", "\"F32 \"", "\"f32\"", "\"\"", "\"F3\"", "null", "[\"F32\"]", "32"}) {
    checkRefused(entry("\"dtype\":" + std::string(word) + "," + shape + "," + offsets), kData16,
                 Reason::kDtype, word, "a");
  }
  for (const char* sizes : {"[2.0]", "[2e0]", "[+2]", "[-2]", "[\"2\"]", "[[2]]", "[null]", "[02]",
                            "[9007199254740992]", "[36893488147419103236]"}) {
    const std::string bad = std::string(sizes).substr(1);
    checkRefused(entry(dtype + ",\"shape\":" + sizes + "," + offsets), kData16, Reason::kShape, bad, "a");
  }
  for (const char* sizes : {"null", "4", "{}", "\"[4]\""}) {
    checkRefused(entry(dtype + "," + offsets + ",\"shape\":" + sizes), kData16, Reason::kShape, sizes, "a");
  }
  for (const char* sizes : {"[2,]", "[,2]", "[2", "[2 2]"}) {
    CHECK(refusalOf(fileOf(entry(dtype + "," + offsets + ",\"shape\":" + sizes), kData16)).reason ==
          Reason::kShape);
  }
  for (const char* range : {"[]", "[0]", "[0,16,32]", "\"0,16\"", "{\"0\":0}", "[-16,0]", "[0,16.0]",
                            "[0,1e1]", "[16,0]", "[1,0]", "[0,18446744073709551616]", "null"}) {
    checkRefused(entry(dtype + "," + shape + ",\"data_offsets\":" + range), kData16, Reason::kOffsets, range,
                 "a");
  }
}

TEST_CASE("No key may come twice", "[models]") {
  const std::string tensor = tensorText("w", "U8", "4", 0, 4);
  checkRefused("{" + tensor + "," + tensorText("w", "F32", "1", 0, 4) + "}", "dddd", Reason::kDuplicate,
               "\"w\"", "w");
  checkRefused("{" + tensor + "," + tensorText("\\u0077", "F32", "1", 0, 4) + "}", "dddd", Reason::kDuplicate,
               "\"\\u0077\"", "\\u0077");
  checkRefused("{" + tensorText("x", "U8", "0", 0, 0) + "," + tensor + "," +
                   tensorText("a", "U8", "0", 0, 0) + "," + tensorText("x", "U8", "0", 4, 4) + "," +
                   tensorText("w", "U8", "0", 4, 4) + "}",
               "dddd", Reason::kDuplicate, "\"x\"", "x");
  checkRefused("{" + tensor + "," + tensorText("a", "U8", "0", 0, 0) + "," +
                   tensorText("w", "U8", "0", 4, 4) + "," + tensorText("a", "U8", "0", 4, 4) + "}",
               "dddd", Reason::kDuplicate, R"("w":{"dtype":"U8","shape":[0])", "w");
  checkRefused("{" + tensorText("a", "U8", "0", 0, 0) + "," + tensor + "," +
                   tensorText("a", "U8", "0", 4, 4) + "," + tensorText("w", "U8", "0", 4, 4) + "}",
               "dddd", Reason::kDuplicate, R"("a":{"dtype":"U8","shape":[0],"data_offsets":[4,4])", "a");
  checkRefused(R"({"__metadata__":{"k":"1","j":"","j":"3","k":"2"}})", "", Reason::kDuplicate, "\"j\":\"3\"",
               "__metadata__");
  checkRefused(R"({"__metadata__":{"j":"1","k":"","k":"3","j":"2"}})", "", Reason::kDuplicate, "\"k\":\"3\"",
               "__metadata__");
  for (const char* field : {R"("dtype":"U8")", R"("shape":[4])", R"("data_offsets":[0,4])"}) {
    const std::string fields = R"("dtype":"U8","shape":[4],"data_offsets":[0,4],)";
    checkRefused(entry(fields + field), "dddd", Reason::kDuplicate, field, "a");
  }
  checkRefused(entry(R"("dtype":"U8","shape":[4],"data_offsets":[0,4],"dtyp\u0065":"I8")"), "dddd",
               Reason::kDuplicate, R"("dtyp\u0065")", "a");
  checkRefused(R"({"__metadata__":{"k":"1","j":"","k":"2"}})", "", Reason::kDuplicate, "\"k\"",
               "__metadata__");
  checkRefused(R"({"__metadata__":{},"__metadata__":{}})", "", Reason::kDuplicate, "\"__metadata__\"",
               "__metadata__");
}

TEST_CASE("Metadata is a map of strings", "[models]") {
  for (const char* value : {"null", "\"x\"", "1", "[]"}) {
    checkRefused("{\"__metadata__\":" + std::string(value) + "}", "", Reason::kNotText, value,
                 "__metadata__");
  }
  for (const char* value : {"null}", "1}", "{}}", "[]}"}) {
    checkRefused("{\"__metadata__\":{\"k\":" + std::string(value) + "}", "", Reason::kNotText, value,
                 "__metadata__");
  }
}

TEST_CASE("Sizes are computed without overflow", "[models]") {
  for (const char* shape : {"1,2", "65536,65536", "2147483648,2147483648,4", "4294967296,4294967296",
                            "2,4503599627370498,2048", "9007199254740991", "0"}) {
    INFO(shape);
    checkRefused("{" + tensorText("a", "F32", shape, 0, 16) + "}", kData16, Reason::kSize, "\"a\"", "a");
  }
  // Nothing at all, by way of a product that does not fit.
  checkRefused("{" + tensorText("a", "F32", "9007199254740991,9007199254740991,0", 0, 0) + "}", "",
               Reason::kSize, "\"a\"", "a");
  SafetensorsHeader header;
  SafetensorsFault fault;
  CHECK(openFile(fileOf("{" + tensorText("a", "F32", "9007199254740991,0", 0, 0) + "}", ""), header,
                 &fault) == Status::kOk);
  fault = refusalOf(fileOf("{" + tensorText("a", "F32", "3", 0, 16) + "}", kData16));
  CHECK((fault.wanted == 12 && fault.found == 16));
}

TEST_CASE("Tensors cover the bytes without a hole, an overlap or a rest", "[models]") {
  const auto two = [](uint64_t a, uint64_t b) {
    return "{" + tensorText("a", "F32", "1", a, a + 4) + "," + tensorText("b", "F32", "1", b, b + 4) + "}";
  };
  for (uint64_t b = 0; b < 12; ++b) {
    const std::string text = two(0, b);
    const std::string data = dataOf(b + 4);
    if (b == 4) continue;
    checkRefused(text, data, b < 4 ? Reason::kOverlap : Reason::kHole, "\"b\"", "b");
    const SafetensorsFault fault = refusalOf(fileOf(text, data));
    CHECK((fault.wanted == 4 && fault.found == b));
  }
  checkRefused(two(4, 8), std::string(12, 'd'), Reason::kHole, "\"a\"", "a");
  checkRefused(two(4, 0), std::string(7, 'd'), Reason::kDataPastEnd, "\"a\"", "a");
  checkRefused("{" + tensorText("a", "U8", "0", 4, 4) + "}", "dddd", Reason::kHole, "\"a\"", "a");
  checkRefused("{" + tensorText("a", "F32", "4", 4294967296, 4294967312) + "}", kData16, Reason::kHole,
               "\"a\"", "a");
  checkRefused("{" + tensorText("a", "U8", "15", 18446744073709551600u, 18446744073709551615u) + "}", kData16,
               Reason::kHole, "\"a\"", "a");
  checkRefused("{" + tensorText("a", "F32", "4", 0, 16) + "}", std::string(15, 'd'), Reason::kDataPastEnd,
               "\"a\"", "a");
  for (const std::string text : {"{}", "{\"__metadata__\":{}}"}) {
    CHECK(refusalOf(fileOf(text, "d")).reason == Reason::kDataLeft);
  }
  const SafetensorsFault fault = refusalOf(kFile + "d");
  CHECK(fault.reason == Reason::kDataLeft);
  CHECK((fault.wanted == 12 && fault.found == 13 && fault.at == kFile.size()));
}

TEST_CASE("The size of the data may be unknown", "[models]") {
  SafetensorsHeader header;
  SafetensorsFault fault;
  const std::vector<char> text = exactly(kHeader);
  REQUIRE(header.parse(text.data(), text.size(), kUnknownBytes, &fault) == Status::kOk);
  checkIsGood(header);
  // Beyond 2^53 - 1 places are no exact numbers in JavaScript.
  const std::string large = "{" + tensorText("a", "F64", "1125899906842624", 0, uint64_t{1} << 53) + "}";
  CHECK(header.parse(large.data(), large.size(), kUnknownBytes, &fault) == Status::kInvalidArgument);
  CHECK(fault.reason == Reason::kDataPastEnd);
  checkIsGood(header);
}

TEST_CASE("A file that is cut at any byte is refused", "[models]") {
  for (size_t n = 0; n < kFile.size(); ++n) {
    INFO(n << " bytes");
    const Reason reason = refusalOf(kFile.substr(0, n)).reason;
    CHECK(reason == (n < 8                    ? Reason::kTooShort
                     : n < 8 + kHeader.size() ? Reason::kHeaderPastEnd
                                              : Reason::kDataPastEnd));
  }
  for (size_t n = 0; n < kHeader.size(); ++n) refusalOf(fileOf(kHeader.substr(0, n), std::string(12, 'd')));
}

// An entry of another name or another kind of the same size is right too; whatever is accepted must cover the
// data.
TEST_CASE("Any byte of a header may be anything else", "[models]") {
  size_t accepted = 0;
  for (size_t i = 0; i < 8 + kHeader.size(); ++i) {
    for (int value = 0; value < 256; ++value) {
      std::string file = kFile;
      file[i] = static_cast<char>(value);
      SafetensorsHeader header;
      SafetensorsFault fault;
      const Status status = openFile(file, header, &fault);
      if (status != Status::kOk) {
        CHECK(status == Status::kInvalidArgument);
        CHECK(fault.reason != Reason::kNone);
        CHECK(fault.at <= file.size());
        CHECK(fault.key_at + fault.key_bytes <= kHeader.size());
        CHECK(header.size() == 0);
        continue;
      }
      ++accepted;
      CHECK(header.dataBytes() == 12);
    }
  }
  CHECK(accepted > 8 + kHeader.size());
}

TEST_CASE("Many tensors take little more than linear time", "[models]") {
  constexpr size_t kMany = 50'000;
  std::string text = "{";
  for (size_t i = 0; i < kMany; ++i) {
    const size_t place = (i * 7919) % kMany;
    text += tensorText("model.layers." + std::to_string(place), "U8", "1", place, place + 1) + ",";
  }
  text.back() = '}';
  SafetensorsHeader header;
  SafetensorsFault fault;
  REQUIRE(header.parse(text.data(), text.size(), kMany, &fault) == Status::kOk);
  bool right = header.size() == kMany;
  for (size_t i = 0; i < kMany; ++i)
    right = right && nameOf(header[i]) == "model.layers." + std::to_string(i);
  CHECK(right);
}

TEST_CASE("A weight map is found in its index", "[models]") {
  const auto read = [](const std::string& text, TextMap& map, SafetensorsFault* fault) {
    const std::vector<char> exact = exactly(text);
    return readWeightMap(exact.data(), exact.size(), &map, fault);
  };
  TextMap map;
  SafetensorsFault fault;
  REQUIRE(
      read(
          R"( {"metadata":{"total_size":16.0,"x":null},"weight_map":{"b":"1.safetensors","a":"2\u002esafetensors"}} )",
          map, &fault) == Status::kOk);
  const std::map<std::string, std::string> expected = {{"a", "2.safetensors"}, {"b", "1.safetensors"}};
  CHECK(pairsOf(map) == expected);
  CHECK(std::string(map[0].key, map[0].key_bytes) == "b");
  const std::vector<std::pair<std::string, Reason>> refused = {
      {"", Reason::kNotAnObject},
      {"[]", Reason::kNotAnObject},
      {"{}", Reason::kMissing},
      {R"({"metadata":{}})", Reason::kMissing},
      {R"({1:{}})", Reason::kSyntax},
      {R"({"weight_map":{"a":"x"})", Reason::kSyntax},
      {R"({"weight_map":{"a":"x"}}x)", Reason::kSyntax},
      {R"({"weight_map":{"a":"x"},"y"})", Reason::kSyntax},
      {R"({"y":tru,"weight_map":{"a":"x"}})", Reason::kSyntax},
      {R"({"weight_map":null})", Reason::kNotText},
      {R"({"weight_map":{"a":1}})", Reason::kNotText},
      {R"({"weight_map":{"a":"x","a":"y"}})", Reason::kDuplicate},
      {R"({"weight_map":{"a":"x"},"weight_map":{}})", Reason::kDuplicate},
      {"{\"weight_map\":{\"\xFF\":\"x\"}}", Reason::kNotUtf8},
  };
  for (const auto& [text, reason] : refused) {
    INFO(text);
    CHECK(read(text, map, &fault) == Status::kInvalidArgument);
    CHECK(fault.reason == reason);
    CHECK(pairsOf(map) == expected);
  }
}

}  // namespace ropewalk::test
