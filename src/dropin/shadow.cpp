// SPDX-License-Identifier: Apache-2.0
#include "dropin/shadow.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace bwgemm::dropin {
namespace {

constexpr std::int64_t band = 512;  // in front of each piece and behind the last
constexpr std::int64_t alignment = 256;
constexpr unsigned char pattern = 0xa5;

void check_result(CUresult result) {
  require(result == CUDA_SUCCESS);
}

// Bytes from the first element of a matrix to the last; of a batch by strides, of all.
std::int64_t span(const Call& call, const Operand& operand, std::int64_t rows,
                  std::int64_t columns) {
  if (rows == 0 || columns == 0) return 0;
  if (operand.is_row_major()) std::swap(rows, columns);
  const std::int64_t batches = call.by_pointers() ? 0 : (call.batch - 1) * operand.stride;
  return (batches + (columns - 1) * operand.ld + rows) * size_of(operand.type);
}

// Where the pieces begin that hold an operand: one, or of a batch by pointers one of each matrix.
std::vector<CUdeviceptr> pieces(const Call& call, const Operand& operand, CUstream stream) {
  const auto data = reinterpret_cast<CUdeviceptr>(operand.data);
  if (!call.by_pointers()) return {data};
  std::vector<CUdeviceptr> found(static_cast<std::size_t>(call.batch));
  download(found.data(), data, found.size() * sizeof found[0], stream);
  return found;
}

std::vector<std::int64_t> starts(const Call& call, const Operand& operand, std::int64_t bytes) {
  std::vector<std::int64_t> found(static_cast<std::size_t>(call.batch));
  const std::int64_t step = call.by_pointers() ? bytes : operand.stride * size_of(operand.type);
  for (std::int64_t at = 0; std::int64_t & start : found) start = step * at++;
  return found;
}

}  // namespace

void download(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  if (bytes != 0) check_result(device()->memcpy_dtoh_async(to, from, bytes, stream));
  check_result(device()->stream_synchronize(stream));
}

HostMatrix copied(const Call& call, const Operand& operand, std::int64_t rows, std::int64_t columns,
                  CUstream stream) {
  const std::int64_t bytes = span(call, operand, rows, columns);
  const std::vector<CUdeviceptr> sources = pieces(call, operand, stream);
  HostMatrix matrix{
      {}, starts(call, operand, bytes), operand.type, operand.ld, operand.is_row_major()};
  matrix.bytes.resize(sources.size() * static_cast<std::size_t>(bytes));
  std::byte* to = matrix.bytes.data();
  for (const CUdeviceptr source : sources) {
    download(to, source, static_cast<std::size_t>(bytes), stream);
    to += bytes;
  }
  return matrix;
}

Shadow::Shadow(const Call& call, CUstream stream)
    : call_(call), stream_(stream), piece_bytes_(span(call, call.output(), call.m, call.n)) {
  const std::vector<CUdeviceptr> sources = pieces(call, call.output(), stream);
  for (const CUdeviceptr source : sources) {
    offsets_.push_back(bytes_ + band + static_cast<std::int64_t>(source % alignment));
    bytes_ = (offsets_.back() + piece_bytes_ + alignment - 1) / alignment * alignment;
  }
  pointers_ = bytes_ += band;
  if (call.by_pointers()) bytes_ += static_cast<std::int64_t>(sources.size() * sizeof(CUdeviceptr));
  check_result(device()->mem_alloc(&memory_, static_cast<std::size_t>(bytes_)));
  try {
    copy(sources);
  } catch (...) {
    device()->mem_free(memory_);
    throw;
  }
}

// A failure leaves the memory to the context, which is lost then.
Shadow::~Shadow() {
  device()->stream_synchronize(stream_);
  device()->mem_free(memory_);
}

void Shadow::copy(const std::vector<CUdeviceptr>& sources) {
  check_result(
      device()->memset_d8_async(memory_, pattern, static_cast<std::size_t>(bytes_), stream_));
  std::vector<CUdeviceptr> copies;
  for (std::size_t piece = 0; piece < sources.size(); ++piece) {
    copies.push_back(memory_ + static_cast<CUdeviceptr>(offsets_[piece]));
    check_result(device()->memcpy_dtod_async(copies.back(), sources[piece],
                                             static_cast<std::size_t>(piece_bytes_), stream_));
  }
  if (call_.by_pointers())
    check_result(device()->memcpy_htod_async(memory_ + static_cast<CUdeviceptr>(pointers_),
                                             copies.data(), copies.size() * sizeof copies[0],
                                             stream_));
  check_result(device()->stream_synchronize(stream_));
}

void* Shadow::argument() const {
  const std::int64_t offset = call_.by_pointers() ? pointers_ : offsets_.front();
  return reinterpret_cast<void*>(memory_ + static_cast<CUdeviceptr>(offset));
}

HostMatrix Shadow::elements() const {
  const Operand& of = call_.output();
  HostMatrix matrix{{}, starts(call_, of, piece_bytes_), of.type, of.ld, of.is_row_major()};
  matrix.bytes.resize(offsets_.size() * static_cast<std::size_t>(piece_bytes_));
  std::byte* to = matrix.bytes.data();
  for (const std::int64_t offset : offsets_) {
    download(to, memory_ + static_cast<CUdeviceptr>(offset), static_cast<std::size_t>(piece_bytes_),
             stream_);
    to += piece_bytes_;
  }
  return matrix;
}

bool Shadow::has_whole_bands() const {
  std::vector<unsigned char> image(static_cast<std::size_t>(pointers_));
  download(image.data(), memory_, image.size(), stream_);
  for (const std::int64_t offset : offsets_)
    std::memset(image.data() + offset, pattern, static_cast<std::size_t>(piece_bytes_));
  return std::all_of(image.begin(), image.end(),
                     [](unsigned char byte) { return byte == pattern; });
}

std::string Shadow::damage(const HostMatrix& before, const HostMatrix& after) const {
  if (!has_whole_bands()) return "bwgemm wrote in front of the result or behind it";
  const Operand& of = call_.output();
  std::vector<std::byte> expected = before.bytes;
  const std::int64_t lines = of.is_row_major() ? call_.m : call_.n;
  const std::int64_t line_bytes = (of.is_row_major() ? call_.n : call_.m) * size_of(of.type);
  for (const std::int64_t start : after.starts)
    for (std::int64_t line = 0; line < lines; ++line) {
      const std::int64_t at = start + line * of.ld * size_of(of.type);
      std::memcpy(expected.data() + at, after.bytes.data() + at,
                  static_cast<std::size_t>(line_bytes));
    }
  return expected == after.bytes ? "" : "bwgemm wrote between the lines of the result";
}

}  // namespace bwgemm::dropin
