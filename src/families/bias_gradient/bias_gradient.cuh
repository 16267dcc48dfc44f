// SPDX-License-Identifier: Apache-2.0
// The kernel of bias gradients: adds up the rows or the columns of a matrix of any alignment and
// leading dimension. families/bias_gradient/params.h has the order of the additions. Persistent
// over (unit of 64 outputs, part of its chunks).
//
// Roles (256 threads)   each adds 8 outputs x 8 terms at a time to 64 sums in registers
// Shared memory         32 sums for each of 64 outputs
// Timeline, per chunk   loads and additions; sums to shared memory, barrier, 64 threads add them,
//                       barrier
//           per unit    where parts share it: sums out, arrive, all but the last CTA go on; write
#pragma once

#include "device/epilogue.h"
#include "device/ptx/global_memory.h"
#include "device/ptx/operand_memory.h"
#include "device/ptx/shared_memory.h"
#include "device/ptx/sync.h"
#include "families/bias_gradient/params.h"

namespace bwgemm::bias_gradient {

inline constexpr int octet = 8;
inline constexpr int groups = block / octet;    // of neighbouring terms: one thread's
inline constexpr int pitch = unit_outputs + 4;  // floats; spreads the groups over the banks
inline constexpr int unit_bytes = 16;           // of the widest load
static_assert(groups * (unit_outputs / octet) == threads);

// A thread's elements: lines lie a leading dimension apart.
struct Block {
  const char* at;
  std::int64_t line_bytes;
  int lines, elements;  // that exist, at most 8
  bool in_units;        // lines start at units of 16 bytes
};

using Sums = float[octet][octet];  // lines, elements

template <int count>
BWGEMM_DEVICE float tree(float (&value)[count]) {
#pragma unroll
  for (int step = 1; step < count; step *= 2)
#pragma unroll
    for (int i = 0; i < count; i += 2 * step) value[i] = __fadd_rn(value[i], value[i + step]);
  return value[0];
}

// What registers hold at once of a block: 16-byte units of some lines.
template <bool is_f32>
struct Loaded {
  static constexpr int units = is_f32 ? 2 : 1, lines = octet / units;
  std::uint32_t words[lines][units][4];

  // The lines from `first` on; zeros for what does not exist.
  BWGEMM_DEVICE void load(const Block& block, int first) {
    if (block.in_units && block.elements == octet)
      load_units(block, first);
    else
      load_elements(block, first);
  }

  BWGEMM_DEVICE void load_units(const Block& block, int first) {
#pragma unroll
    for (int i = 0; i < lines; ++i)
#pragma unroll
      for (int unit = 0; unit < units; ++unit)
        ptx::ld_global_v4_if(first + i < block.lines,
                             block.at + (first + i) * block.line_bytes + unit * unit_bytes,
                             words[i][unit]);
  }

  BWGEMM_DEVICE void load_elements(const Block& block, int first) {
#pragma unroll
    for (int i = 0; i < lines; ++i) {
      const char* const line = block.at + (first + i) * block.line_bytes;
      const int elements = first + i < block.lines ? block.elements : 0;
#pragma unroll
      for (int word = 0; word < 4 * units; ++word) {
        std::uint32_t& to = words[i][word / 4][word % 4];
        if constexpr (is_f32)
          to = ptx::ld_global_if(word < elements, line + 4 * word);
        else
          to = ptx::ld_global_u16_if(2 * word < elements, line + 4 * word) |
               ptx::ld_global_u16_if(2 * word + 1 < elements, line + 4 * word + 2) << 16;
      }
    }
  }

  // To the sums of the same lines.
  BWGEMM_DEVICE void add_to(Dtype type, Sums& sums, int first) const {
    if constexpr (is_f32) {
#pragma unroll
      for (int i = 0; i < lines; ++i)
#pragma unroll
        for (int e = 0; e < octet; ++e)
          add(sums[first + i][e], __uint_as_float(words[i][e / 4][e % 4]));
    } else if (type == Dtype::bf16) {
      add_pairs(Dtype::bf16, sums, first);
    } else {
      add_pairs(Dtype::f16, sums, first);
    }
  }

  BWGEMM_DEVICE void add_pairs(Dtype type, Sums& sums, int first) const {
#pragma unroll
    for (int i = 0; i < lines; ++i)
#pragma unroll
      for (int word = 0; word < 4; ++word) {
        const Pair pair = unpack(type, words[i][0][word]);
        add(sums[first + i][2 * word], pair.low);
        add(sums[first + i][2 * word + 1], pair.high);
      }
  }

  BWGEMM_DEVICE static void add(float& sum, float term) {
    sum = __fadd_rn(sum, term);
  }
};

template <bool is_f32>
BWGEMM_DEVICE void add_block(const Block& block, Dtype type, Sums& sums) {
#pragma unroll
  for (int first = 0; first < octet; first += Loaded<is_f32>::lines) {
    Loaded<is_f32> loaded;
    loaded.load(block, first);
    loaded.add_to(type, sums, first);
  }
}

BWGEMM_DEVICE int clipped(std::int64_t count) {
  return count < 0 ? 0 : count < octet ? static_cast<int>(count) : octet;
}

// Where a thread stands in the block of terms and outputs that the CTA takes at once. Neighbouring
// threads load neighbouring memory.
struct Place {
  int group, output;  // of terms; the first of 8 outputs of the unit

  BWGEMM_DEVICE explicit Place(bool terms_lie_together)
      : group(terms_lie_together ? threadIdx.x % groups : threadIdx.x / (unit_outputs / octet)),
        output(octet * (terms_lie_together ? threadIdx.x / groups
                                           : threadIdx.x % (unit_outputs / octet))) {}
};

// One batch of the matrix.
class Reader {
 public:
  BWGEMM_DEVICE Reader(const BiasGradientParams& params, std::uint32_t batch)
      : params_(params), place_(params.terms_lie_together) {
    const int bytes = size_bytes(params.type);
    data_ = static_cast<const char*>(params.matrix);
    data_ = params.is_pointer_array
                ? reinterpret_cast<const char*>(ptx::ld_global_b64(data_ + sizeof(void*) * batch))
                : data_ + batch * params.batch_stride * bytes;
    line_bytes_ = params.ld * bytes;
    in_units_ = (reinterpret_cast<std::int64_t>(data_) | line_bytes_) % unit_bytes == 0;
  }

  // The sums of this thread's terms of the chunk.
  BWGEMM_DEVICE void add_chunk(std::uint32_t unit, std::uint32_t chunk, Sums& sums) const {
    const std::int64_t end = min(params_.terms, (chunk + std::int64_t{1}) * params_.chunk);
    const std::int64_t output = std::int64_t{unit} * unit_outputs + place_.output;
    std::int64_t term = chunk * params_.chunk + octet * place_.group;
    const int outputs = clipped(params_.outputs - output);
    const bool along = params_.terms_lie_together;
    const int bytes = size_bytes(params_.type);
    const std::int64_t step = block * (along ? bytes : line_bytes_);
    Block at{
        data_ + (along ? output * line_bytes_ + term * bytes : term * line_bytes_ + output * bytes),
        line_bytes_, outputs, outputs, in_units_};
#pragma unroll 1
    for (; term < end; term += block) {
      (along ? at.elements : at.lines) = clipped(end - term);
      if (params_.type == Dtype::f32)
        add_block<true>(at, Dtype::f32, sums);
      else
        add_block<false>(at, params_.type, sums);
      at.at += step;
    }
  }

  // Adds up this thread's sums of each of its outputs, and leaves them in shared memory.
  BWGEMM_DEVICE void hand_over(Sums& sums, std::uint32_t shared) const {
    float of_output[octet];
    if (params_.terms_lie_together) {
#pragma unroll
      for (int i = 0; i < octet; ++i) of_output[i] = tree(sums[i]);
    } else {
#pragma unroll
      for (int i = 0; i < octet; ++i) {
        float terms[octet];
#pragma unroll
        for (int line = 0; line < octet; ++line) terms[line] = sums[line][i];
        of_output[i] = tree(terms);
      }
    }
    const std::uint32_t to = shared + 4 * (place_.group * pitch + place_.output);
#pragma unroll
    for (int i = 0; i < octet; i += 4)
      ptx::st_shared_v4(to + 4 * i, __float_as_uint(of_output[i]),
                        __float_as_uint(of_output[i + 1]), __float_as_uint(of_output[i + 2]),
                        __float_as_uint(of_output[i + 3]));
  }

 private:
  const BiasGradientParams& params_;
  const Place place_;
  const char* data_;
  std::int64_t line_bytes_;
  bool in_units_;
};

// Adds what all threads left in shared memory for one output of the unit.
BWGEMM_DEVICE float sum_of_groups(std::uint32_t shared, int output) {
  float sum[groups];
#pragma unroll
  for (int group = 0; group < groups; ++group)
    sum[group] = __uint_as_float(ptx::ld_shared(shared + 4 * (group * pitch + output)));
  return tree(sum);
}

// Where the chunks' sums of an output meet. `unit` counts through the batches.
BWGEMM_DEVICE float* partial(const BiasGradientParams& params, std::uint32_t unit,
                             std::uint32_t chunk, int output) {
  const std::int64_t unit_of_all = std::int64_t{chunk} * (params.units * params.batch) + unit;
  return params.partials + unit_of_all * unit_outputs + output;
}

// True in every thread of the last CTA to hand in its sums; the unit's counter is zero again.
BWGEMM_DEVICE bool is_last(const BiasGradientParams& params, std::uint32_t unit) {
  __syncthreads();  // orders the sums of every thread before the arrival of thread 0
  bool last = false;
  if (threadIdx.x == 0) {
    // Releases this CTA's sums to, and acquires the others' for, the CTA that is last.
    last = ptx::atom_add_acq_rel_gpu(params.arrivals + unit, 1) == params.parts - 1;
    if (last) ptx::st_global(params.arrivals + unit, 0);  // nobody else arrives
  }
  return __syncthreads_or(last) != 0;  // orders the arrival before the reads of every thread
}

BWGEMM_DEVICE float sum_of_chunks(const BiasGradientParams& params, std::uint32_t unit,
                                  int output) {
  constexpr int at_once = 16;
  float sum = 0;
#pragma unroll 1
  for (std::uint32_t first = 0; first < params.chunks; first += at_once) {
    std::uint32_t value[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i)
      value[i] =
          ptx::ld_global_if(first + i < params.chunks, partial(params, unit, first + i, output));
#pragma unroll
    for (int i = 0; i < at_once; ++i) sum = __fadd_rn(sum, __uint_as_float(value[i]));
  }
  return sum;
}

BWGEMM_DEVICE void write(const BiasGradientParams& params, std::uint32_t batch, std::int64_t output,
                         float sum) {
  if (output >= params.outputs) return;
  char* const to = static_cast<char*>(params.to) +
                   size_bytes(params.to_type) * (batch * params.to_batch_stride + output);
  if (params.to_type == Dtype::f32)
    ptx::st_global(to, __float_as_uint(sum));
  else
    ptx::st_global_u16(to, pack(params.to_type, {sum, 0}));
}

BWGEMM_DEVICE void add_up(const BiasGradientParams& params) {
  alignas(unit_bytes) __shared__ std::uint8_t memory[4 * groups * pitch];
  const auto shared = static_cast<std::uint32_t>(__cvta_generic_to_shared(memory));
  const int output = threadIdx.x;  // of the unit, of the threads that finish it
  const bool finishes = output < unit_outputs;
  ptx::griddepcontrol_wait();  // what grids before this one wrote before anything is read
  const std::uint32_t work = params.units * params.batch * params.parts;
#pragma unroll 1
  for (std::uint32_t index = blockIdx.x; index < work; index += gridDim.x) {
    const std::uint32_t unit_of_all = index / params.parts;
    const std::uint32_t batch = unit_of_all / params.units;
    const std::uint32_t unit = unit_of_all - batch * params.units;
    const std::uint32_t first = (index - unit_of_all * params.parts) * params.chunks_per_part;
    const Reader reader(params, batch);
    float sum = 0;
#pragma unroll 1
    for (std::uint32_t chunk = first; chunk < first + params.chunks_per_part; ++chunk) {
      Sums sums = {};
      reader.add_chunk(unit, chunk, sums);
      reader.hand_over(sums, shared);
      __syncthreads();  // orders the sums of every thread before the reads of those that finish
      if (finishes) sum = __fadd_rn(sum, sum_of_groups(shared, output));
      __syncthreads();  // orders those reads before the sums of the next chunk
    }
    if (params.parts > 1) {
      if (finishes)
        ptx::st_global(partial(params, unit_of_all, first, output), __float_as_uint(sum));
      if (!is_last(params, unit_of_all)) continue;
      if (finishes) sum = sum_of_chunks(params, unit_of_all, output);
    }
    if (finishes) write(params, batch, std::int64_t{unit} * unit_outputs + output, sum);
  }
}

}  // namespace bwgemm::bias_gradient
