// SPDX-License-Identifier: Apache-2.0
// Runs when the kernels are configured: writes one <name>.cu per variant of families/variants.h,
// and those of families/helpers.h, into the folder given, and prints one line for each for CMake:
// name, source folder, threads, cluster size, compilation targets (separated by commas). Files
// whose text is unchanged are not touched, so that a new variant compiles only itself.
#include <array>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>

#include "core/element.h"
#include "core/kernel_config.h"
#include "families/facts.h"
#include "families/helpers.h"
#include "families/variants.h"

namespace {

using bwgemm::Family;
using bwgemm::KernelConfig;
using bwgemm::Load;
using bwgemm::Major;
using bwgemm::Schedule;
using bwgemm::Store;

std::string_view enumerator(Family family) {
  switch (family) {
    case Family::cooperative: return "cooperative";
    case Family::pair: return "pair";
    case Family::single: return "single";
    case Family::direct: return "direct";
    case Family::dot: return "dot";
    case Family::warp: return "warp";
    case Family::stationary: return "stationary";
  }
  return "?";
}

std::string_view enumerator(Schedule schedule) {
  switch (schedule) {
    case Schedule::persistent: return "persistent";
    case Schedule::launch_control: return "launch_control";
    case Schedule::one_tile: return "one_tile";
  }
  return "?";
}

std::string_view enumerator(Load load) {
  switch (load) {
    case Load::tma: return "tma";
    case Load::tma_shifted: return "tma_shifted";
    case Load::loose_a: return "loose_a";
    case Load::threads: return "threads";
    case Load::units: return "units";
  }
  return "?";
}

std::string_view enumerator(Store store) {
  return store == Store::tma ? "tma" : "elements";
}

std::string_view enumerator(Major major) {
  switch (major) {
    case Major::k: return "k";
    case Major::mn: return "mn";
    case Major::any: return "any";
  }
  return "?";
}

// Blackwell kernels twice: the family's image, and from the same PTX one for 10.0 alone, which
// drivers load that do not know families.
std::string_view targets(bwgemm::Arch arch) {
  return arch == bwgemm::Arch::sm90 ? "sm_90a" : "sm_100f,sm_100a";
}

int threads(const KernelConfig& config) {
  const int any_tile_n = 256;  // the number of threads does not depend on what the launch chooses
  return bwgemm::kernel_shape(config, any_tile_n, bwgemm::Dtype::bf16).threads;
}

// The kernel's one argument.
std::string_view parameters(const KernelConfig& config) {
  if (bwgemm::is_unmapped(config)) return "KernelParams";
  return bwgemm::has_residues(config) ? "ResidueParams" : "MappedParams";
}

std::string source(const KernelConfig& config) {
  const bwgemm::FamilyFacts& facts = bwgemm::facts_of(config.family);
  std::ostringstream text;
  text << "// Written by packaging/list_kernels.cpp from a variant of families/variants.h.\n";
  for (const std::string_view header : facts.image_headers(config))
    if (!header.empty()) text << "#include \"families/" << facts.folder << "/" << header << "\"\n";
  text << "\ninline constexpr bwgemm::KernelConfig config{\n"
       << "    bwgemm::Arch::" << name(config.arch)
       << ", bwgemm::Family::" << enumerator(config.family)
       << ", bwgemm::MmaKind::" << facts_of(config.mma).name
       << ", bwgemm::Major::" << enumerator(config.a) << ", bwgemm::Major::" << enumerator(config.b)
       << ",\n    {" << config.tile.m << ", " << config.tile.n << ", " << config.tile.k << "}, {"
       << config.cluster.m << ", " << config.cluster.n << "}, " << config.stages
       << ", bwgemm::Load::" << enumerator(config.load)
       << ", bwgemm::Store::" << enumerator(config.store) << ", "
       << (config.swaps_ab ? "true" : "false") << ", " << config.ctas_per_sm;
  if (const bwgemm::Sm100Choices& choices = config.choices; choices != bwgemm::Sm100Choices{})
    text << ",\n    {" << choices.swizzle_bytes << ", " << choices.map_rank
         << ", bwgemm::Schedule::" << enumerator(choices.schedule) << ", " << choices.accumulators
         << ", " << (choices.prefetches_maps ? "true" : "false") << "}";
  if (config.ping_pong) text << ", {}, true";
  text << "};\n\n"
       << "extern \"C\" __global__ void __launch_bounds__(" << threads(config) << ", "
       << config.ctas_per_sm << ")";
  if (config.cluster.size() > 1) text << " __cluster_dims__(" << config.cluster.size() << ", 1, 1)";
  text << "\n    " << kernel_name(config).view()
       << "(const __grid_constant__ bwgemm::" << parameters(config) << " params) {\n"
       << "  bwgemm::" << facts.folder << "::gemm<config>(params);\n}\n";
  return text.str();
}

std::string source(const bwgemm::Helper& helper, bwgemm::Arch arch) {
  std::ostringstream text;
  text << "// Written by packaging/list_kernels.cpp from families/helpers.h.\n"
       << "#include \"families/" << helper.folder << "/" << helper.header << "\"\n\n"
       << "extern \"C\" __global__ void __launch_bounds__(" << helper.threads << ", "
       << helper.ctas_per_sm << ")\n    " << helper.name(arch).view()
       << "(const __grid_constant__ bwgemm::" << helper.params << " params) {\n"
       << "  bwgemm::" << helper.body << "(params);\n}\n";
  return text.str();
}

bool write_if_changed(const std::filesystem::path& file, const std::string& text) {
  std::ostringstream present;
  present << std::ifstream(file).rdbuf();
  if (present.str() == text) return true;
  return static_cast<bool>(std::ofstream(file) << text << std::flush);
}

bool write_source(const std::filesystem::path& folder, const bwgemm::KernelName& kernel,
                  const std::string& text) {
  const std::filesystem::path file = folder / (std::string(kernel.view()) + ".cu");
  if (write_if_changed(file, text)) return true;
  std::cerr << "list_kernels: cannot write " << file << '\n';
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: list_kernels FOLDER\n";
    return 2;
  }
  for (const KernelConfig& variant : bwgemm::kernel_variants) {
    if (!write_source(argv[1], kernel_name(variant), source(variant))) return 1;
    std::cout << kernel_name(variant).view() << ' ' << bwgemm::facts_of(variant.family).folder
              << ' ' << threads(variant) << ' ' << variant.cluster.size() << ' '
              << targets(variant.arch) << '\n';
  }
  for (const bwgemm::Helper& helper : bwgemm::helpers)
    for (const bwgemm::Arch arch : {bwgemm::Arch::sm90, bwgemm::Arch::sm100}) {
      const bwgemm::KernelName kernel = helper.name(arch);
      if (!write_source(argv[1], kernel, source(helper, arch))) return 1;
      std::cout << kernel.view() << ' ' << helper.folder << ' ' << helper.threads << " 1 "
                << targets(arch) << '\n';
    }
  return 0;
}
