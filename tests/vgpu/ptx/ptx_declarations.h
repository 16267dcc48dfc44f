// SPDX-License-Identifier: Apache-2.0
// The declarations of a PTX module: registers, shared variables, parameters, and what a kernel
// demands of its launch.
#pragma once

#include <string_view>
#include <vector>

#include "vgpu/ptx/ptx_text.h"

namespace bwgemm::vgpu {

// All throw LoadError. Texts come without the ';' that ends them.
std::vector<RegisterDeclaration> read_register_declarations(std::string_view text,
                                                            std::string_view origin, int line);
SharedDeclaration read_shared_declaration(std::string_view text, std::string_view origin, int line);
ParameterDeclaration read_parameter_declaration(std::string_view text, std::string_view origin,
                                                int line);
void read_kernel_directives(std::string_view text, KernelText& kernel, std::string_view origin,
                            int line);

}  // namespace bwgemm::vgpu
